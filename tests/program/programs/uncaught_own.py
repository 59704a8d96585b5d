# An exception of the program's own that nobody catches
class MyErr(Exception):
    def __init__(self, code):
        super().__init__(f"code {code}")
        self.code = code
class Sub(MyErr): pass
try:
    raise Sub(5)
except MyErr as e:
    print(e, e.code, isinstance(e, Exception), repr(e))
class E2(ValueError):
    def __str__(self): return "custom"
raise E2("x")
