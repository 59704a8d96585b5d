# raise and except of objects that are not exceptions
def tell(case):
    try:
        case()
    except Exception as error:
        print(case.__name__, type(error).__name__, error)


def case_0():
    raise ValueError


tell(case_0)


def case_1():
    raise ValueError("a", 1)


tell(case_1)


def case_2():
    raise 5


tell(case_2)


def case_3():
    raise


tell(case_3)


def case_4():
    raise ValueError("x") from None


tell(case_4)


def case_5():
    assert 1 == 2, "one is not two"


tell(case_5)


def case_6():
    assert False


tell(case_6)


def case_7():
    try:
        raise ValueError("x")
    except 5:
        pass


tell(case_7)


def case_8():
    try:
        raise ValueError("x")
    except (TypeError, 5):
        pass


tell(case_8)
