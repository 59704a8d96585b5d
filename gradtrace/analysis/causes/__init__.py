"""The search for what is wrong in a run. Each "question" is a function that looks for one kind of
cause in a Trace; the most serious kinds come first.
"""
