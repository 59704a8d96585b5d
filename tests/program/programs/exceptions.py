# try in all its forms
try:
    1 / 0
except ZeroDivisionError as err:
    print(err, type(err).__name__, err.args)
try:
    print(err)
except NameError as x:
    print(x)
try:
    [][1]
except (KeyError, IndexError) as err:
    print("ie", err)
else:
    print("no")
finally:
    print("fin")
try:
    pass
except:
    print("no")
else:
    print("else")
finally:
    print("fin")
try:
    try:
        raise ValueError("a")
    except ValueError as err:
        raise TypeError("b") from err
except TypeError as err:
    print(err, repr(err.__cause__))
try:
    try:
        raise ValueError("a")
    except ValueError:
        raise
except ValueError as err:
    print("re", err)
try:
    {}["x"]
except KeyError as err:
    print(repr(err), str(err))
try:
    int("x")
except Exception as err:
    print(err)

def f():
    try:
        raise ValueError("first")
    except ValueError as e:
        try:
            raise KeyError("second")
        except KeyError as k:
            print(repr(k.__context__))
        print(repr(e))
        raise
try:
    f()
except ValueError as e:
    print("outer", e)

def f():
    try:
        return g()
    except ZeroDivisionError:
        return "zde"
    finally:
        print("f")
def g():
    try:
        1 / 0
    finally:
        print("g")
print(f())

for i in range(3):
    try:
        if i == 1: raise ValueError(i)
        print("ok", i)
    except ValueError as e:
        print("err", e)
        continue
    else:
        print("else", i)
    finally:
        print("fin", i)

try:
    raise KeyError("a")
except KeyError as e:
    err = e
print(repr(err), err.args)
import math
for bad in (lambda: math.sqrt(-1), lambda: math.log(0), lambda: math.factorial(-1), lambda: 10 ** 400 * 1.0, lambda: math.exp(1000)):
    try: print(bad())
    except Exception as e: print(type(e).__name__, e)
