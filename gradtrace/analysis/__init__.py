"""Analyses: from a Trace to the steps of a run, the reason of a gradient, the chain rule by paths, and what is wrong.

Every analysis takes a Trace and gives plain NamedTuples; none of them touches live tensors, the terminal or a file.
"""
