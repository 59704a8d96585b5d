"""Compare two runs: are they equal, equal within a tolerance, or where do they first differ?

distance.py     how far apart two values are
tolerance.py    how far apart two values may be
runs.py         one run as the comparison reads it: steps, uses, gradients, versions
align.py        which tensor of one run is which of the other
verdict.py      the answer: compare(a, b)
reasons.py      what is known of the reason of a difference
"""
