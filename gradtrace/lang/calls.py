"""Calls to closures, by the number and kind of their arguments.

A function of the program is entered directly, without Python's own call protocol; so is a method bound to an object.
Variables of the frame are read in place, and `torch.sin(x)` and `x.sin()` find their function in place too, for what a
call costs besides the operator that it calls is what these closures cost. Every form does the same, in Python's order.
"""

from __future__ import annotations

from types import FunctionType, MethodType

from gradtrace.annotations import Any, Callable, NamedTuple
from gradtrace.engine.state import state
from gradtrace.engine.tensor import Tensor
from gradtrace.errors import GradtraceError
from gradtrace.lang import syntax as ast
from gradtrace.lang.expressions import compile_expression, compiles, full_name, items_of
from gradtrace.lang.unit import UNBOUND, Code, Frame, Unit
from gradtrace.lang.values import FIXED, Function
from gradtrace.lang.weigh import HASHING, arguments

NONE: dict[str, Any] = {}  # no keyword arguments; never written to
NOBODY: Any = object()  # no value of a program


class Read(NamedTuple):
    """How a form gets at an operand: a variable of the frame by its `name`, and by `code` if it is none or unbound."""

    name: str | None
    code: Code


def read(node: ast.expr, unit: Unit) -> Read:
    name = unit.direct(node)
    return Read(name, compile_expression(node, unit) if name is None else unit.missing(node))  # type: ignore[arg-type]


class Called(NamedTuple):
    """What is called: an attribute `key` of an owner (an origin and the gate's word on it beside it), or an operand."""

    owner: Read
    key: str | None
    place: int
    approved: set[type]
    get: Callable[[Any, str], Any]


class Rest(NamedTuple):
    """What all forms of calls have besides."""

    name: str  # of the function, for messages
    origin: int
    meter: Any
    target: str | None  # the variable of the frame to store the result in; None: return it


@compiles(ast.Call)
def call(node: ast.Call, unit: Unit, target: str | None = None) -> Code:
    if is_bare_super(node, unit):
        return stored(bare_super(node, unit), target)
    if node.keywords or len(node.args) > 2 or any(isinstance(a, ast.Starred) for a in node.args):
        return stored(any_arguments(node, compile_expression(node.func, unit), unit), target)
    called = what_is_called(node.func, unit)
    args = [read(a, unit) for a in node.args]
    form: Callable[..., Code] = (no_argument, one_argument, two_arguments)[len(args)]
    return form(called, *args, Rest(attribute_of(node), unit.origin(node), unit.meter, target))


def stored(code: Code, target: str | None) -> Code:
    if target is None:
        return code

    def run(f: Frame) -> None:
        f[target] = code(f)

    return run


def attribute_of(node: ast.Call) -> str:
    """How a call such as x.sum() or torch.linalg.det(x) names its function: "x.sum", "linalg.det"; "" without a dot."""
    if not isinstance(node.func, ast.Attribute):
        return ""
    owner = node.func.value
    return f"{getattr(owner, 'attr', getattr(owner, 'id', ''))}.{node.func.attr}"


def method_of_all(found: Any) -> Any:
    """The function behind a tensor's method, which is the same for every tensor; None for what is no such method."""
    function = getattr(found, "__func__", None)
    return function if type(found) is MethodType and type(function) is FunctionType else None


def refuse_call(error: Exception, target: Any, receiver: Any, name: str, args: Any, kwargs: dict[str, Any]) -> None:
    """TypeError with PyTorch's words instead of `error`, if the arguments fit none of the operator's signatures."""
    if isinstance(error, (GradtraceError, MemoryError)):
        return  # a limit: there may be no room to look at signatures
    from gradtrace.lang.refusals import of_operator

    if receiver is not None:
        target = MethodType(target, receiver)
    message = of_operator(target, name, tuple(args), kwargs)
    if message:
        raise TypeError(message) from None


def what_is_called(node: ast.expr, unit: Unit) -> Called:
    if not isinstance(node, ast.Attribute):
        return Called(read(node, unit), None, 0, set(), unit.gate.get)
    return Called(read(node.value, unit), node.attr, unit.origin(node), unit.gate.approved(node.attr), unit.gate.get)


def no_argument(called: Called, rest: Rest) -> Code:
    (name, code), key, place, approved, get = called
    label, origin, meter, target = rest
    seen: Any = NOBODY  # an owner whose attributes stay what they are, and the one of `key`
    known: Any = None
    method: Any = None  # the function that all tensors have for `key`

    def run(f: Frame) -> Any:
        nonlocal seen, known, method
        receiver = None
        if name is None:
            function = code(f)
        else:
            try:
                function = f[name]
            except KeyError:
                function = code(f)
        if key is not None:
            state.origin = place
            if function is seen:
                function = known
            elif method is not None and type(function) is Tensor:
                receiver, function = function, method
            else:
                owner = function
                function = getattr(owner, key) if type(owner) in approved else get(owner, key)
                if type(owner) in FIXED:
                    seen, known = owner, function
                elif type(owner) is Tensor:
                    method = method_of_all(function)
        state.origin = origin
        kind = type(function)
        if kind is Function:
            result = function._run((), NONE)
        elif kind is MethodType and type(function.__func__) is Function:
            result = function.__func__._run((function.__self__,), NONE)
        else:
            meter.left -= 1
            if meter.left < 0:
                meter.more()
            try:
                result = function() if receiver is None else function(receiver)
            except Exception as error:
                refuse_call(error, function, receiver, label, (), NONE)
                raise
        if target is None:
            return result
        f[target] = result

    return run


def one_argument(called: Called, first: Read, rest: Rest) -> Code:
    (name, code), key, place, approved, get = called
    name_first, code_first = first
    label, origin, meter, target = rest
    seen: Any = NOBODY  # an owner whose attributes stay what they are, and the one of `key`
    known: Any = None
    method: Any = None  # the function that all tensors have for `key`

    def run(f: Frame) -> Any:
        nonlocal seen, known, method
        receiver = None
        if name is None:
            function = code(f)
        else:
            try:
                function = f[name]
            except KeyError:
                function = code(f)
        if key is not None:
            state.origin = place
            if function is seen:
                function = known
            elif method is not None and type(function) is Tensor:
                receiver, function = function, method
            else:
                owner = function
                function = getattr(owner, key) if type(owner) in approved else get(owner, key)
                if type(owner) in FIXED:
                    seen, known = owner, function
                elif type(owner) is Tensor:
                    method = method_of_all(function)
        if name_first is None:
            a = code_first(f)
        else:
            try:
                a = f[name_first]
            except KeyError:
                a = code_first(f)
        state.origin = origin
        kind = type(function)
        if kind is Function:
            result = function._run((a,), NONE)
        elif kind is MethodType and type(function.__func__) is Function:
            result = function.__func__._run((function.__self__, a), NONE)
        else:
            meter.left -= 1
            if meter.left < 0:
                meter.more()
            if kind in HASHING:
                (a,) = arguments(function, kind, (a,), meter)
            try:
                result = function(a) if receiver is None else function(receiver, a)
            except Exception as error:
                refuse_call(error, function, receiver, label, (a,), NONE)
                raise
        if target is None:
            return result
        f[target] = result

    return run


def two_arguments(called: Called, first: Read, second: Read, rest: Rest) -> Code:
    (name, code), key, place, approved, get = called
    name_first, code_first = first
    name_second, code_second = second
    label, origin, meter, target = rest
    seen: Any = NOBODY  # an owner whose attributes stay what they are, and the one of `key`
    known: Any = None
    method: Any = None  # the function that all tensors have for `key`

    def run(f: Frame) -> Any:
        nonlocal seen, known, method
        receiver = None
        if name is None:
            function = code(f)
        else:
            try:
                function = f[name]
            except KeyError:
                function = code(f)
        if key is not None:
            state.origin = place
            if function is seen:
                function = known
            elif method is not None and type(function) is Tensor:
                receiver, function = function, method
            else:
                owner = function
                function = getattr(owner, key) if type(owner) in approved else get(owner, key)
                if type(owner) in FIXED:
                    seen, known = owner, function
                elif type(owner) is Tensor:
                    method = method_of_all(function)
        if name_first is None:
            a = code_first(f)
        else:
            try:
                a = f[name_first]
            except KeyError:
                a = code_first(f)
        if name_second is None:
            b = code_second(f)
        else:
            try:
                b = f[name_second]
            except KeyError:
                b = code_second(f)
        state.origin = origin
        kind = type(function)
        if kind is Function:
            result = function._run((a, b), NONE)
        elif kind is MethodType and type(function.__func__) is Function:
            result = function.__func__._run((function.__self__, a, b), NONE)
        else:
            meter.left -= 1
            if meter.left < 0:
                meter.more()
            if kind in HASHING:
                a, b = arguments(function, kind, (a, b), meter)
            try:
                result = function(a, b) if receiver is None else function(receiver, a, b)
            except Exception as error:
                refuse_call(error, function, receiver, label, (a, b), NONE)
                raise
        if target is None:
            return result
        f[target] = result

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
        if kind in HASHING:
            args = arguments(target, kind, args, meter)
        try:
            if "out" in kwargs and kwargs["out"] is not None:
                return with_out(target, name, args, kwargs)
            return target(*args, **kwargs)
        except Exception as error:
            refuse_call(error, target, None, name, args, kwargs)
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


def with_out(target: Any, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
    """A call that puts its result into the tensor given as `out`, where the target is an operator."""
    from gradtrace.lang.refusals import is_operator
    from gradtrace.ops.out import into

    if not is_operator(target):
        return target(*args, **kwargs)
    out = kwargs["out"]
    rest = {key: value for key, value in kwargs.items() if key != "out"}
    return into(out, name.rpartition(".")[2] or target.__name__, target(*args, **rest), (*args, *rest.values()))


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
