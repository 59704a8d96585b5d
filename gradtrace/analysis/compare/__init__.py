"""Compare two runs: are they equal, equal within a tolerance, or where do they first differ?

distance.py     how far apart two values are
tolerance.py    how far apart two values may be
runs.py         one run as the comparison reads it: steps, uses, gradients, versions
align.py        which tensor of one run is which of the other
verdict.py      the answer: compare(a, b)
cells.py        the values and gradients that are compared, and what each comes from
search.py       the cells at which a difference was added
differences.py  differences as they are shown, and which of them are shown as one
locations.py    the places of what a run did
reasons.py      what is known of the reason of a difference
texts.py        what the programs' texts say of it: seeds, draws, the line that made a module
"""
