"""The books of a training, made from the events of its record: what became of every gradient, who
changed every parameter, which results went backward.
"""
