"""Views, and tensors joined, split and rearranged."""
