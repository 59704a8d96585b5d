# What objects cannot do
def tell(case):
    try:
        case()
    except Exception as error:
        print(case.__name__, type(error).__name__, error)


def case_0():
    class A: pass
    print(A() + 1)


tell(case_0)


def case_1():
    class A: pass
    print(A() < A())


tell(case_1)


def case_2():
    class A: pass
    print(len(A()))


tell(case_2)


def case_3():
    class A: pass
    for x in A(): pass


tell(case_3)


def case_4():
    class A: pass
    A()()


tell(case_4)


def case_5():
    class A: pass
    A().nope


tell(case_5)


def case_6():
    class A: pass
    A.nope


tell(case_6)


def case_7():
    class A: pass
    print(A()[0])


tell(case_7)


def case_8():
    class A:
        @property
        def p(self): return 1
    A().p = 3


tell(case_8)


def case_9():
    with 5: pass


tell(case_9)


def case_10():
    class A:
        def __enter__(self): pass
    with A(): pass


tell(case_10)
