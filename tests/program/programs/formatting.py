# f-strings, % and format
a = 3.14159
s = "text"
print(f"{a:.2f} {a:10.3f}| {a:<10}| {a:e} {s!r} {s:>10} {s:^10}| {a=} {a=:.1f} {1 + 1 = } {{}} {'nested'}")
w = 12
print(f"{a:{w}.{2}f} {s:*^{w}} {1000000:,} {255:x} {255:#x} {255:08b} {0.5:%} {-5:+d}")
print(f"{[1, 2]} {dict(a=1)} {None} {True} {s[0]} {'a' if a > 3 else 'b'} {(lambda x: x * 2)(3)}")
print(f"""multi
{a}""")
print(f"{a!s:>10}", f"{'ü'!a}")
print("%d %s %.2f %r %5d|%-5d| %% %x" % (1, "a", 2.5, "b", 3, 4, 255))
print("%s" % 5, "%(a)s %(b)d" % {"a": 1, "b": 2}, "%s" % (1,), "%s" % [1, 2])
print("{} {} {0}".format(1, 2) if False else "{0} {1} {0}".format(1, 2), "{a} {b[0]} {c.real}".format(a=1, b=[2], c=3), "{:>5} {:.1f}".format("a", 2.55), "{!r:>5}".format("a"), "{:{}}".format(5, 10))
print("a" "b", r"\n", 'q"', "\u00e9\t|")
