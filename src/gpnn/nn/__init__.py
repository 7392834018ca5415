"""The network: torch and PyG."""
