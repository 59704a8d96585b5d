# Widths, fields and conversions
print("{:08.3f}|{:+.2e}|{:,}|{:<6}|{:^7}|{:>4}|{:#b}|{:%}|{:s}|{!r}".format(3.14159, 12345.678, 1234567, "ab", "mid", 5, 6, 0.125, "s", "r"))
x = 3.14159; name = "w"; width = 8
print(f"{x:{width}.{3}}|{x!r:>{width}}|{name!r}|{x=!s}|{name=}|{x:=^10.2f}|{'a' + 'b'}|{ {'k': 1}['k'] }|{x if x > 3 else 0:.1f}")
print(f"{1}{2}" f"{3}" "4", f"{{x}}", f"{'{'}", f"{chr(10)}" == "\n", f"{None}", f"{[1, 2][0]}", f"{lambda_ if False else 'ok'}")
print("%5.2f|%-6s|%06d|%+d|%x|%o|%e|%g|%c|%s|%r|%%" % (3.14159, "ab", 42, 7, 255, 8, 1234.5, 0.0001, "z", [1], "q"))
print("%(a)s-%(b)03d" % {"a": "x", "b": 7}, "%s" % None, "%s %s" % ("a", (1, 2)), "%.3s" % "abcdef", "%*d" % (5, 42))
print("a{}b{}c".format(1, 2), "{0}{1}{0}".format("x", "y"), "{a.real} {b[k]} {c[0]}".format(a=5, b={"k": 1}, c=[9]), "{:{}}".format("x", 4) + "|", "{:.{p}f}".format(1.23456, p=2), "{{}}".format())
print(repr("it's"), repr('say "hi"'), repr("both'\""), repr("tab\t\n\\"), repr("é"), ascii("é"), "\x41\u0042\N{GREEK SMALL LETTER ALPHA}")
