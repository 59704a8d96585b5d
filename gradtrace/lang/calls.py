"""Calls to closures, by the number and kind of their arguments.

A function of the program is entered directly, without Python's own call protocol; so is a method bound to an object.
"""

from __future__ import annotations

from types import MethodType

from gradtrace.annotations import Any, Callable
from gradtrace.engine.state import state
from gradtrace.lang import syntax as ast
from gradtrace.lang.expressions import compile_expression, compiles, full_name, items_of
from gradtrace.lang.unit import UNBOUND, Code, Frame, Unit
from gradtrace.lang.values import Function

NONE: dict[str, Any] = {}  # no keyword arguments; never written to


@compiles(ast.Call)
def call(node: ast.Call, unit: Unit) -> Code:
    if is_bare_super(node, unit):
        return bare_super(node, unit)
    function = compile_expression(node.func, unit)
    if node.keywords or len(node.args) > 2 or any(isinstance(a, ast.Starred) for a in node.args):
        return any_arguments(node, function, unit)
    args = [compile_expression(a, unit) for a in node.args]
    form: Callable[..., Code] = (no_argument, one_argument, two_arguments)[len(args)]
    return form(function, *args, name=attribute_of(node), origin=unit.origin(node), meter=unit.meter)


def attribute_of(node: ast.Call) -> str:
    """How a call such as x.sum() or torch.linalg.det(x) names its function: "x.sum", "linalg.det"; "" without a dot."""
    if not isinstance(node.func, ast.Attribute):
        return ""
    owner = node.func.value
    return f"{getattr(owner, 'attr', getattr(owner, 'id', ''))}.{node.func.attr}"


def refuse_call(error: Exception, target: Any, name: str, args: Any, kwargs: dict[str, Any]) -> None:
    """TypeError with PyTorch's words instead of `error`, if the arguments fit none of the operator's signatures."""
    from gradtrace.lang.refusals import of_operator

    message = of_operator(target, name, tuple(args), kwargs)
    if message:
        raise TypeError(message) from None


def no_argument(function: Code, *, name: str, origin: int, meter: Any) -> Code:
    def run(f: Frame) -> Any:
        target = function(f)
        state.origin = origin
        kind = type(target)
        if kind is Function:
            return target._run((), NONE)
        if kind is MethodType and type(target.__func__) is Function:
            return target.__func__._run((target.__self__,), NONE)
        meter.left -= 1
        if meter.left < 0:
            meter.more()
        try:
            return target()
        except Exception as error:
            refuse_call(error, target, name, (), NONE)
            raise

    return run


def one_argument(function: Code, first: Code, *, name: str, origin: int, meter: Any) -> Code:
    def run(f: Frame) -> Any:
        target = function(f)
        a = first(f)
        state.origin = origin
        kind = type(target)
        if kind is Function:
            return target._run((a,), NONE)
        if kind is MethodType and type(target.__func__) is Function:
            return target.__func__._run((target.__self__, a), NONE)
        meter.left -= 1
        if meter.left < 0:
            meter.more()
        try:
            return target(a)
        except Exception as error:
            refuse_call(error, target, name, (a,), NONE)
            raise

    return run


def two_arguments(function: Code, first: Code, second: Code, *, name: str, origin: int, meter: Any) -> Code:
    def run(f: Frame) -> Any:
        target = function(f)
        a = first(f)
        b = second(f)
        state.origin = origin
        kind = type(target)
        if kind is Function:
            return target._run((a, b), NONE)
        if kind is MethodType and type(target.__func__) is Function:
            return target.__func__._run((target.__self__, a, b), NONE)
        meter.left -= 1
        if meter.left < 0:
            meter.more()
        try:
            return target(a, b)
        except Exception as error:
            refuse_call(error, target, name, (a, b), NONE)
            raise

    return run


def any_arguments(node: ast.Call, function: Code, unit: Unit) -> Code:
    """Any number of arguments, by position, by name, and spread."""
    positional, origin, meter = items_of(node.args, unit), unit.origin(node), unit.meter
    named, name = keywords_of(node, unit), attribute_of(node)

    def run(f: Frame) -> Any:
        target = function(f)
        args = positional(f, target)
        kwargs = named(f, target) if named is not None else NONE
        state.origin = origin
        kind = type(target)
        if kind is Function:
            return target._run(tuple(args), kwargs)
        if kind is MethodType and type(target.__func__) is Function:
            return target.__func__._run((target.__self__, *args), kwargs)
        meter.left -= 1
        if meter.left < 0:
            meter.more()
        try:
            return target(*args, **kwargs)
        except Exception as error:
            refuse_call(error, target, name, args, kwargs)
            raise

    return run


def keywords_of(node: ast.Call, unit: Unit) -> Callable[[Frame, Any], dict[str, Any]] | None:
    """The keyword arguments as a new dict; None if there are none."""
    if not node.keywords:
        return None
    pairs = [(k.arg, compile_expression(k.value, unit)) for k in node.keywords]
    if all(name is not None for name, _ in pairs):
        return lambda f, target: {name: value(f) for name, value in pairs}  # type: ignore[misc]

    def run(f: Frame, target: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in pairs:
            if name is not None:
                add_keyword(found, name, value(f), target)
            else:
                spread_keywords(found, value(f), target)
        return found

    return run


def spread_keywords(found: dict[str, Any], mapping: Any, target: Any) -> None:
    if not hasattr(type(mapping), "keys"):
        kind = type(mapping).__name__
        raise TypeError(f"{full_name(target)} argument after ** must be a mapping, not {kind}")
    for key in mapping.keys():  # noqa: SIM118 - any mapping, a dict or not
        if not isinstance(key, str):
            raise TypeError("keywords must be strings")
        add_keyword(found, key, mapping[key], target)


def add_keyword(found: dict[str, Any], name: str, value: Any, target: Any) -> None:
    if name in found:
        raise TypeError(f"{full_name(target)} got multiple values for keyword argument '{name}'")
    found[name] = value


# ---- super()


def is_bare_super(node: ast.Call, unit: Unit) -> bool:
    func = node.func
    plain = isinstance(func, ast.Name) and func.id == "super" and not node.args and not node.keywords
    return plain and unit.scope.kind_of("super") == "global" and not unit.is_bound("super")


def bare_super(node: ast.Call, unit: Unit) -> Code:
    """super() without arguments: the class around the function, and the function's first argument."""
    origin, first = unit.origin(node), unit.scope.first_parameter
    has_class = unit.scope.kind_of("__class__") == "free"
    boxed = first is not None and unit.scope.kind_of(first) == "cell"

    def run(f: Frame) -> Any:
        state.origin = origin
        if first is None:
            raise RuntimeError("super(): no arguments")
        if not has_class:
            raise RuntimeError("super(): __class__ cell not found")
        cls = f["__class__"][0]
        if cls is UNBOUND:
            raise RuntimeError("super(): empty __class__ cell")
        return super(cls, f[first][0] if boxed else f[first])

    return run
