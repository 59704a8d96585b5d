# A dict changed while it is iterated
d = {1: 2}
for k in d:
    d[k + 1] = 1
