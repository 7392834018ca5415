"""Compiled loops over CSR arrays. Importing one of these modules imports numba."""
