# Names without a value
def tell(case):
    try:
        case()
    except Exception as error:
        print(case.__name__, type(error).__name__, error)


def case_0():
    def f():
        print(x)
        x = 1
    f()


tell(case_0)


def case_1():
    def f():
        def g(): return y
        print(g())
        y = 1
    f()


tell(case_1)


def case_2():
    def f():
        x = 1
        del x
        return x
    f()


tell(case_2)


def case_3():
    def f():
        del q
    f()


tell(case_3)
