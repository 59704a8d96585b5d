# A set changed while it is iterated
s = {1}
for k in s:
    s.add(k + 10)
