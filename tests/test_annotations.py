"""The records of `gradtrace.annotations` are those of `typing`, whichever of the two makes them."""

import copy
import pickle
import typing

import pytest

from gradtrace import annotations


class Theirs(typing.NamedTuple):
    """A record."""

    name: str
    size: int = 0
    parts: tuple = ()

    @property
    def doubled(self):
        return 2 * self.size

    def named(self, name):
        return self._replace(name=name)


class Ours(annotations.NamedTuple):
    """A record."""

    name: str
    size: int = 0
    parts: tuple = ()

    @property
    def doubled(self):
        return 2 * self.size

    def named(self, name):
        return self._replace(name=name)


CALLS = [
    (("a",), {}), (("a", 1), {}), (("a", 1, (2,)), {}), (("a",), {"parts": (1,)}), ((), {"size": 3, "name": "b"}),
    ((), {}), (("a", 1, 2, 3), {}), (("a",), {"name": "b"}), (("a",), {"colour": 1}), ((), {"size": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("values", "named"), CALLS)
def test_the_same_tuple_or_the_same_refusal(values, named):
    try:
        expected = Theirs(*values, **named)
    except TypeError:
        with pytest.raises(TypeError):
            Ours(*values, **named)
        return
    made = Ours(*values, **named)
    assert made == expected and hash(made) == hash(expected) and tuple(made) == tuple(expected)
    assert repr(made) == repr(expected).replace("Theirs", "Ours")
    assert (made.name, made.size, made.parts, made.doubled) == (*expected, expected.doubled)
    assert made._asdict() == expected._asdict()
    assert made.named("new") == expected.named("new") and type(made.named("new")) is Ours
    for again in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made), Ours._make(made)):
        assert again == made and type(again) is Ours


def test_what_a_class_tells_of_itself():
    for name in ("_fields", "_field_defaults", "__match_args__", "__doc__", "__slots__"):
        assert getattr(Ours, name) == getattr(Theirs, name)
    assert isinstance(Ours("a"), tuple) and not hasattr(Ours("a"), "__dict__")


def test_places_cannot_be_set():
    with pytest.raises(AttributeError):
        Ours("a").name = "b"
    with pytest.raises(AttributeError):
        Ours("a").other = "b"
    with pytest.raises(ValueError, match="unexpected field"):
        Ours("a")._replace(other=1)


def test_patterns():
    match Ours("a", 2):
        case Ours(name, size=2):
            assert name == "a"
        case _:
            pytest.fail("no match")


def test_many_calls_make_the_same():
    for i in range(600):
        assert Ours("a", parts=i) == Theirs("a", parts=i) and Ours(size=i, name="b") == Theirs(
            size=i, name="b"
        )
    for values, named in CALLS:
        test_the_same_tuple_or_the_same_refusal(values, named)
