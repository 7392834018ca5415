"""Data shipped with the package; see README.md beside this file."""
