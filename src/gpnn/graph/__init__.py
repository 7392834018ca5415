"""The graph core: NumPy and numba, no torch."""
