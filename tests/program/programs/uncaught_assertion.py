# An assertion that does not hold
assert 1 == 2, "one is not two"
