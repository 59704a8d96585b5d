# Unpacking that does not fit
def tell(case):
    try:
        case()
    except Exception as error:
        print(case.__name__, type(error).__name__, error)


def case_0():
    a, b = 1, 2, 3


tell(case_0)


def case_1():
    a, b, c = [1, 2]


tell(case_1)


def case_2():
    a, *b, c = [1]


tell(case_2)


def case_3():
    a, b = 5


tell(case_3)


def case_4():
    a, *b = 5


tell(case_4)
