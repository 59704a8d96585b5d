"""Tensor creation and dtype conversion."""
