"""Compiled loops of the trainer. Importing one of these modules imports numba."""
