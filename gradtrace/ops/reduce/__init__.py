"""Reductions, running sums, counting and sorting."""
