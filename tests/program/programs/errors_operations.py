# Operations on values that do not have them
def tell(case):
    try:
        case()
    except Exception as error:
        print(case.__name__, type(error).__name__, error)


def case_0():
    print([x for x in 5])


tell(case_0)


def case_1():
    print(sum(x for x in None))


tell(case_1)


def case_2():
    print(1 + "a")


tell(case_2)


def case_3():
    print("a" + 1)


tell(case_3)


def case_4():
    print([1] + (2,))


tell(case_4)


def case_5():
    print(1 / 0)


tell(case_5)


def case_6():
    print(1 % 0)


tell(case_6)


def case_7():
    print(1.0 // 0)


tell(case_7)


def case_8():
    print(5[0])


tell(case_8)


def case_9():
    print([1]["a"])


tell(case_9)


def case_10():
    print((1, 2)[5])


tell(case_10)


def case_11():
    print({}["x"])


tell(case_11)


def case_12():
    x = (1, 2)
    x[0] = 5


tell(case_12)


def case_13():
    "abc"[0] = "x"


tell(case_13)


def case_14():
    None.foo


tell(case_14)


def case_15():
    None()


tell(case_15)


def case_16():
    x = 5
    x.y = 3


tell(case_16)


def case_17():
    x = [1]
    x.foo = 1


tell(case_17)


def case_18():
    print(-"a")


tell(case_18)


def case_19():
    print(~1.5)


tell(case_19)


def case_20():
    print(1 < "a")


tell(case_20)


def case_21():
    print(int("abc"))


tell(case_21)


def case_22():
    print(float("x"))


tell(case_22)


def case_23():
    print(int([]))


tell(case_23)


def case_24():
    print(len(5))


tell(case_24)


def case_25():
    print(max([]))


tell(case_25)


def case_26():
    print(next(iter([])))


tell(case_26)


def case_27():
    print(sum(["a"]))


tell(case_27)


def case_28():
    print(sorted([1, "a"]))


tell(case_28)


def case_29():
    print(list(5))


tell(case_29)


def case_30():
    for i in 5: pass


tell(case_30)


def case_31():
    print({[]: 1})


tell(case_31)


def case_32():
    print({[1]})


tell(case_32)


def case_33():
    print(hash([]))


tell(case_33)


def case_34():
    print(ord("ab"))


tell(case_34)


def case_35():
    print(chr(-1))


tell(case_35)


def case_36():
    print(range(1.5))


tell(case_36)


def case_37():
    print(range(1, 2, 0))


tell(case_37)


def case_38():
    print(round("a"))


tell(case_38)


def case_39():
    print("a" * "b")


tell(case_39)


def case_40():
    print([1, 2].index(5))


tell(case_40)


def case_41():
    [1].remove(5)


tell(case_41)


def case_42():
    [].pop()


tell(case_42)


def case_43():
    {}.pop("x")


tell(case_43)


def case_44():
    {1}.remove(2)


tell(case_44)


def case_45():
    print("abc".index("z"))


tell(case_45)


def case_46():
    print(",".join([1]))


tell(case_46)


def case_47():
    print("a".split(""))


tell(case_47)


def case_48():
    print(sep=5)


tell(case_48)


def case_49():
    print("x", foo=1)


tell(case_49)


def case_50():
    print([*5])


tell(case_50)


def case_51():
    print({**5})


tell(case_51)


def case_52():
    print(isinstance(5, 5))


tell(case_52)


def case_53():
    print(issubclass(5, int))


tell(case_53)


def case_54():
    print(getattr(5, "nope"))


tell(case_54)


def case_55():
    del {}["x"]


tell(case_55)
