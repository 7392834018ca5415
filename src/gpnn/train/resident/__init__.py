"""Sets of graphs laid out as flat tensors on a device, and batches put together there."""
