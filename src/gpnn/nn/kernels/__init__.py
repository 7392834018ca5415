"""Kernels of our own, for CUDA and for the CPU, and the choice between them and plain PyTorch."""
