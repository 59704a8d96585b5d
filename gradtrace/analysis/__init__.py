"""Analyses of a Trace: the steps of a run, the reason for a gradient, the chain rule by paths, and
what is wrong.

Every analysis takes a Trace and returns plain NamedTuples; it does not access live tensors, the
terminal or files.
"""
