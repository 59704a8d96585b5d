# Exceptions as values, and the order of finally
def f():
    try:
        raise ValueError("v")
    except ValueError as err:
        saved = err
    return saved
e1 = f()
print(repr(e1), e1.args, str(e1))
try: raise e1
except ValueError as err: print(err is e1)
print(ValueError("a", 2), repr(ValueError()), str(ValueError()), KeyError("k"), repr(KeyError("k")))
print(ValueError("a") == ValueError("a"), isinstance(e1, (KeyError, ValueError)))
try: raise KeyError
except KeyError as err: print(repr(err), err.args)
try:
    try: raise ValueError("inner")
    finally: print("cleanup")
except ValueError as err: print(err)
def g():
    for i in range(3):
        try:
            if i == 0: continue
            if i == 1: break
        finally:
            print("f", i)
    else:
        print("else")
    return i
print(g())
def h():
    try:
        try:
            raise KeyError("a")
        finally:
            raise ValueError("b")
    except ValueError as err:
        return repr(err.__context__)
print(h())
def k():
    try:
        return print("ret") or 1
    except Exception:
        return 2
    else:
        return 3
    finally:
        print("always")
print(k())
errs = (TypeError, ValueError)
try: int("q")
except errs as err: print(type(err).__name__)
try:
    raise TypeError("x") from ValueError
except TypeError as err: print(repr(err.__cause__), err.__suppress_context__)
