"""Trace -> facts: what happened step by step, why a gradient is what it is, which path gave what, and what is wrong.

Every analysis takes a Trace and gives plain NamedTuples; none of them touches live tensors, the terminal or a file.
"""
