"""Compiled loops over the bytes of molecules."""
