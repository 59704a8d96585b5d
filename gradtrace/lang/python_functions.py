"""Functions of Python's modules that are written for programs: gated, charged to the budget, or both."""

from __future__ import annotations

import time
from importlib import import_module as real_import

from gradtrace.annotations import Any, AnyFunction, Callable
from gradtrace.lang import hash_cost, wall
from gradtrace.lang.attributes import Gate
from gradtrace.lang.budget import Meter, exceeded
from gradtrace.lang.costs import charge_visit, length_of
from gradtrace.lang.iteration import charged, charged_call, depth_of, limit_depth, metered, with_name
from gradtrace.lang.values import Frozen, ProgramFunction
from gradtrace.lang.words import Names


class PythonFunctions:
    """The functions of one run, as methods; `operators` finds the run's own function of an operator."""

    gate: Gate
    meter: Meter
    operators: Callable[[str], Any]

    def namedtuple(self, typename: str, field_names: Any, *, rename: bool = False, defaults: Any = None) -> Any:
        """Implement collections.namedtuple; the attribute gate treats the class as the program's own."""
        real = real_import("collections").namedtuple
        with wall.lowered():  # it compiles generated text after checking the names
            names_of = real(typename, field_names, rename=rename, defaults=defaults, module="__main__")
        self.gate.adopt(names_of)
        return names_of

    def iterator(self, name: str) -> AnyFunction:
        real, meter = getattr(real_import("itertools"), name), self.meter

        def call(*args: Any, **kwargs: Any) -> Any:
            repeat = kwargs.get("repeat", 1) if name == "product" else 1
            meter.count_items(sum(map(length_of, args)) * (max(repeat, 1) if type(repeat) is int else 1))
            if name == "groupby":
                hash_cost.charge_items(args[0] if args else (), meter)
            given = [charged_call(arg, meter) for arg in args]
            return limit_depth(metered(real(*given, **kwargs), meter), max(map(depth_of, args), default=0))

        return with_name(call, name)

    def visitor(self, module: str, name: str) -> AnyFunction:
        """Return a function of Python's that visits all items of its arguments."""

        def charge(args: Any, _: Any) -> None:
            for arg in args:
                charge_visit(arg, self.meter)
                hash_cost.charge_items(arg, self.meter)

        return charged(getattr(real_import(module), name), charge)

    def comparing(self, module: str) -> Names:
        """Return the names of bisect or heapq, whose comparisons of items are charged to the budget."""
        meter = self.meter

        def charge(args: Any, _: Any) -> None:
            for arg in args:
                ends = module != "operator" and isinstance(arg, list) and arg
                hash_cost.charge_items((arg[0], arg[-1]) if ends else (arg,), meter)
            if module == "heapq" and args:
                charge_visit(args[-1], meter, 2)

        return {"*": lambda name: charged(getattr(real_import(module), name), charge, name)}

    def attrgetter(self, *names: str) -> AnyFunction:
        """Implement operator.attrgetter through the attribute gate."""

        def one(value: Any, path: str) -> Any:
            for name in path.split("."):
                value = self.gate.get(value, name)
            return value

        if not names or any(type(name) is not str for name in names):
            raise TypeError("attribute name must be a string")
        return lambda value: one(value, names[0]) if len(names) == 1 else tuple(one(value, n) for n in names)

    def methodcaller(self, name: str, /, *args: Any, **how: Any) -> AnyFunction:
        """Implement operator.methodcaller through the attribute gate."""
        if type(name) is not str:
            raise TypeError("method name must be a string")
        return lambda value: self.gate.get(value, name)(*args, **how)

    def contains(self, container: Any, value: Any) -> bool:
        found: bool = self.operators("in_")(value, container)
        return found

    def sleep(self, seconds: float) -> None:
        if time.monotonic() + seconds > self.meter.deadline:
            limit = self.meter.budget.seconds
            raise exceeded("seconds", f"the program would sleep longer than its time limit of {limit:g} s")
        time.sleep(seconds)


class Chain(Frozen):
    """The programs' version of itertools.chain, with from_iterable."""

    __slots__ = ("_meter",)

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def __call__(self, *iterables: Any) -> Any:
        return self._over(iterables, max(map(depth_of, iterables), default=0))

    def from_iterable(self, iterables: Any) -> Any:
        return self._over(iterables, depth_of(iterables))

    def _over(self, iterables: Any, depth: int) -> Any:
        return limit_depth(metered(real_import("itertools").chain.from_iterable(iterables), self._meter), depth)


def wraps(wrapped: Any, assigned: Any = None, updated: Any = None) -> AnyFunction:
    """Implement functools.wraps; it changes only functions of the program."""

    def decorate(function: Any) -> Any:
        if type(function) is not ProgramFunction:
            return function
        for name in ("__name__", "__qualname__", "__doc__"):
            if isinstance(value := getattr(wrapped, name, None), str):
                setattr(function, name, value)
        if type(wrapped) is ProgramFunction:
            own = {k: v for k, v in vars(wrapped).items() if not k.startswith("__")}
            vars(function).update(own)
        vars(function)["__wrapped__"] = wrapped
        return function

    return decorate
