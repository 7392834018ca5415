"""Figures, drawn with matplotlib without a display."""
