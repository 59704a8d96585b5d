"""The ledger of a training run, made from the events of its record: what became of each gradient,
what changed each parameter, and through which results backward went.
"""
