# Texts that do not fit their values
def tell(case):
    try:
        case()
    except Exception as error:
        print(case.__name__, type(error).__name__, error)


def case_0():
    print("{}".format())


tell(case_0)


def case_1():
    print("{x}".format())


tell(case_1)


def case_2():
    print("{0.nope}".format(5))


tell(case_2)


def case_3():
    print("%d" % "a")


tell(case_3)


def case_4():
    print("%s %s" % (1,))


tell(case_4)


def case_5():
    print(f"{'a':d}")


tell(case_5)


def case_6():
    print("abc".nope())


tell(case_6)
