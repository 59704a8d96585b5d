"""No function of the library asks a program's object for anything, wherever the object stands in a call."""

from __future__ import annotations

import io
import keyword
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gradtrace import lang
from gradtrace.engine.data.state import state
from gradtrace.errors import GradtraceError
from gradtrace.lang import takers
from gradtrace.lang.allowed import MAGIC
from gradtrace.lang.library import LibraryFunction
from gradtrace.lang.namespaces import namespace
from gradtrace.limits import Budget
from tests.lang.reachable import OWNERS, Reached, reached_functions, reached_methods
from tests.lang.spy import Spy, asked, forms

# What Python's functions, and the functions that `takers` declares, may ask for: the special methods that a program's
# class may define, public names, and what `object` and Python's protocols of copies, callables and descriptors have.
OF_PYTHON = MAGIC | set(
    """__class__ __dict__ __copy__ __deepcopy__ __reduce_ex__ __reduce__ __getstate__ __sizeof__ __length_hint__
    __name__ __qualname__ __doc__ __module__ __annotations__ __wrapped__ __isabstractmethod__ __mro__ __fspath__
    __trunc__ __ceil__ __floor__ __rdivmod__ __complex__ __bytes__ __get__ __set_name__ __dataclass_fields__
    __abstractmethods__ __slots__ __objclass__ __code__ __defaults__ __kwdefaults__ __text_signature__ __signature__
    __dir__ __missing__ __or__ __ror__ __instancecheck__ __subclasscheck__ __self__ __func__""".split()  # noqa: SIM905
)
BUDGET = Budget(steps=10**9, flops=10**12, seconds=500)


def is_offered(request: str) -> bool:
    name = request.removeprefix("type.")
    return name in OF_PYTHON or not name.startswith("_") or name in ("_modules", "_forward_pre_hooks")


def run(text: str, **names: Any) -> None:
    lang.run(lang.parse(text), names, budget=BUDGET, stdout=io.StringIO(), stderr=io.StringIO())


def calls_with(reached: Reached, some: list[Any]) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """The arguments of calls with each form of a spy at each position and at each keyword."""
    for form in some:
        for i in range(max(len(reached.args), 1)):
            yield [*reached.args[:i], form, *reached.args[i + 1 :]], reached.named
        for key in [*reached.named, "out", "dtype", "unknown"]:
            yield reached.args, {**reached.named, key: form}


def attempt(call: Callable[..., Any], *args: Any) -> set[str]:
    """What a call asks the spy for."""
    assert state.classes is not None
    state.classes.add(Spy)  # as a class statement of the program does
    asked.clear()
    try:
        call(*args)
    except GradtraceError:
        raise  # a limit of the run: the calls after it would do nothing
    except Exception:
        pass
    return set(asked)


def tried(routes: str) -> tuple[int, int, list[tuple[Any, str, set[str]]]]:
    """How many callables and calls were tried, and (callable, name, requests) for those that ask the spy."""
    found: list[tuple[Any, str, set[str]]] = []
    counts = [0, 0]

    def drive(call: Any, mapped: Any, dotted: dict[str, Any], get: Any, names: Any, owners: Any, torch: Any) -> None:
        spaces: dict[str, Any] = {}

        def space(name: str) -> Any:
            if name not in spaces:
                spaces[name] = namespace(name, torch._modules)
            return spaces[name]

        for reached in [*reached_functions(torch, space, get), *reached_methods(torch, owners, names, get)]:
            counts[0] += 1
            requests: set[str] = set()
            for args, named in calls_with(reached, forms(Spy())):
                counts[1] += 1
                if routes == "call":
                    requests |= attempt(call, get(reached.owner, reached.key), args, named)
                elif reached.key in dotted:
                    requests |= attempt(dotted[reached.key], reached.owner, args, named)
                if routes == "map" and named is reached.named:
                    requests |= attempt(mapped, get(reached.owner, reached.key), [[value] for value in args])
            if requests:
                found.append((get(reached.owner, reached.key), reached.name, requests))

    names = sorted(name for name in all_names() if name.isidentifier() and not keyword.iskeyword(name))
    table = ",\n".join(f"'{name}': lambda o, a, k: o.{name}(*a, **k)" for name in names)
    routes_text = f"lambda f, a, k: f(*a, **k), lambda f, a: list(map(f, *a)), {{\n{table}\n}}"
    run(f"{OWNERS}\ndrive({routes_text}, getattr, dir, owners, torch)\n", drive=drive)
    return counts[0], counts[1], found


def raw(value: Any) -> Any:
    """The library's function behind what a program has."""
    function = getattr(value, "__func__", value)
    return function.__wrapped__ if type(function) is LibraryFunction else value


def all_names() -> set[str]:
    names: set[str] = set()

    def drive(get: Any, listed: Any, owners: Any, torch: Any) -> None:
        space = lambda name: namespace(name, torch._modules)
        names.update(reached.key for reached in reached_functions(torch, space, get))
        names.update(reached.key for reached in reached_methods(torch, owners, listed, get))

    run(f"{OWNERS}\ndrive(getattr, dir, owners, torch)\n", drive=drive)
    return {name for name in names if not name.startswith("_")}


SLOW = [pytest.param(route, marks=pytest.mark.slow) for route in ("call", "map")]


@pytest.mark.parametrize("routes", ["dotted", *SLOW])
def test_a_spy_is_not_asked(routes: str) -> None:
    callables, calls, found = tried(routes)
    assert callables > 3000 and calls > 90_000
    asking = {name: requests for value, name, requests in found if takers.taken_by(raw(value)) is not takers.ANY}
    assert asking == {}
    inner = {name: {r for r in requests if not is_offered(r)} for _, name, requests in found}
    assert {name: requests for name, requests in inner.items() if requests} == {}


OPERATORS = """
from operator import getitem
from functools import partial, reduce
from itertools import starmap
import operator, torch, numpy as np, torch.nn as nn
x, a, p, layer = torch.ones(2, 2), np.ones((2, 2)), nn.Parameter(torch.ones(2)), nn.Linear(2, 2)
def put(target, key, value): target[key] = value
def change(target, key): target[key] += 1
class Library:
    added = torch.add
    negative = property(torch.neg)
def decorated():
    @torch.neg
    def f(): pass
drive([
    lambda: x[s], lambda: x[s, 0], lambda: x[[s]], lambda: x[s:], lambda: x[0, :s], lambda: p[s], lambda: getitem(x, s),
    lambda: put(x, s, 1.0), lambda: put(x, 0, s), lambda: put(x, [s], 1.0), lambda: put(x, 0, [s]),
    lambda: change(x, s), lambda: put(p.data, 0, s), lambda: put(p.data, (0, s), 1.0), lambda: x[..., s],
    lambda: a[s], lambda: a[s:], lambda: a[[s]], lambda: put(a, s, 1.0), lambda: put(a, 0, s), lambda: put(a, 0, [s]),
    lambda: s in a, lambda: change(a, s), lambda: np.ones(s), lambda: np.zeros((2, s)), lambda: np.r_[s:2],
    lambda: partial(torch.add, x)(s), lambda: partial(torch.add, s)(x), lambda: reduce(torch.add, [x, s]),
    lambda: list(starmap(torch.add, [(x, s)])), lambda: list(map(x.add, [s])), lambda: sorted([s], key=torch.neg),
    lambda: max([s, s], key=torch.neg), lambda: list(filter(torch.neg, [s])), lambda: [s].sort(key=torch.neg),
    lambda: operator.methodcaller("add", s)(x), lambda: operator.attrgetter("add")(x)(s), lambda: layer(s),
    lambda: layer.forward(s), lambda: list(map(layer, [s])), lambda: list(map(nn.Linear, [s], [2])),
    lambda: partial(nn.Linear, 2)(s), lambda: nn.Sequential(layer)(s), lambda: torch.add(*[x, s]),
    lambda: torch.add(**{"input": x, "other": s}), lambda: nn.utils.clip_grad_norm_((i for i in [s]), 1.0),
    lambda: torch.cat(list(i for i in [s])), lambda: setattr(nn.Dropout(0.5), "p", s), lambda: decorated(),
    lambda: Library().added(1), lambda: Library().negative, lambda: torch.func.vmap(torch.sin)([s]),
])
"""


def test_nor_by_operators_and_callbacks() -> None:
    def drive(each: list[Any]) -> None:
        assert len(each) > 45
        assert [(i, attempt(one)) for i, one in enumerate(each) if attempt(one)] == []

    run(OPERATORS, drive=drive, s=Spy())


def test_operators_leave_the_answer_to_the_object() -> None:
    """`tensor + object` is the object's `__radd__`, as in Python; the tensor looks at the object's class only."""
    pairs = {"x + s": "__radd__", "x == s": "__eq__", "x < s": "__gt__", "x @ s": "__rmatmul__", "s * x": "__mul__"}
    arrays = {"a - s": "__rsub__", "a == s": "__eq__"}

    def drive(*each: Any) -> None:
        for one, name in zip(each, [*pairs.values(), *arrays.values()], strict=True):
            assert attempt(one) - {"__class__", "type.__dataclass_fields__"} == {name}

    lambdas = ", ".join(f"lambda: {text}" for text in [*pairs, *arrays])
    run(f"import torch, numpy\nx, a = torch.ones(2), numpy.ones(2)\ndrive({lambdas})", drive=drive, s=Spy())
