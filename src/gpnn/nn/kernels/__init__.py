"""Custom kernels for CUDA and the CPU, and the dispatch between them and plain PyTorch."""
