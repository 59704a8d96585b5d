# Arguments that do not fit the parameters
def tell(case):
    try:
        case()
    except Exception as error:
        print(case.__name__, type(error).__name__, error)


def case_0():
    def f(a): pass
    f()


tell(case_0)


def case_1():
    def f(a, b, c): pass
    f()


tell(case_1)


def case_2():
    def f(a, b): pass
    f(1)


tell(case_2)


def case_3():
    def f(a): pass
    f(1, 2)


tell(case_3)


def case_4():
    def f(): pass
    f(1)


tell(case_4)


def case_5():
    def f(a, b=1): pass
    f(1, 2, 3)


tell(case_5)


def case_6():
    def f(a, *, k): pass
    f(1)


tell(case_6)


def case_7():
    def f(a, *, k, l): pass
    f(1)


tell(case_7)


def case_8():
    def f(a, *, k, l, m): pass
    f(1)


tell(case_8)


def case_9():
    def f(a, *, k): pass
    f(1, 2, k=1)


tell(case_9)


def case_10():
    def f(a, *, k=1, l=2): pass
    f(1, 2, 3, k=1, l=3)


tell(case_10)


def case_11():
    def f(a): pass
    f(1, a=2)


tell(case_11)


def case_12():
    def f(a): pass
    f(b=2)


tell(case_12)


def case_13():
    def f(a, /): pass
    f(a=2)


tell(case_13)


def case_14():
    def f(a, b, /): pass
    f(a=2, b=3)


tell(case_14)


def case_15():
    def f(**k): pass
    f(**{1: 2})


tell(case_15)


def case_16():
    def f(**k): pass
    f(a=1, **{"a": 2})


tell(case_16)


def case_17():
    def f(*a): pass
    f(*5)


tell(case_17)


def case_18():
    def f(*a): pass
    f(**5)


tell(case_18)


def case_19():
    class A:
        def m(self, x): pass
    A().m()


tell(case_19)


def case_20():
    class A:
        def m(self): pass
    A().m(1)


tell(case_20)


def case_21():
    class A:
        def __init__(self, x): pass
    A()


tell(case_21)


def case_22():
    class A:
        pass
    A(5)


tell(case_22)


def case_23():
    def outer():
        def inner(a): pass
        inner()
    outer()


tell(case_23)


def case_24():
    f = lambda x: x
    f()


tell(case_24)
