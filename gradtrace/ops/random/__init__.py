"""Random tensors and their generator."""
