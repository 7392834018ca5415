"""Sets of graphs stored as flat tensors on a device, and batches assembled there."""
