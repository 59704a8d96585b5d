"""Reductions, cumulative functions, counting and sorting."""
