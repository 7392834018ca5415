"""Pictures, drawn with matplotlib without a display."""
