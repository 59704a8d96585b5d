"""Compilers of calls.

Every call is one closure: it looks up the function, evaluates the arguments from left to right, counts the call, and
calls. A program's function, or a method bound to an object, is called by its `_call`, which skips Python's argument
passing. The function of `torch.sin(x)` or `x.sin()` is cached at the call site, because looking it up and binding it
takes as long as a small operator.
"""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, MethodType

from gradtrace.annotations import Any, Callable, NamedTuple
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.errors import GradtraceError
from gradtrace.lang.expressions import compile_expression, compiles, full_name, items_of
from gradtrace.lang.hash_cost import HASHING_TYPES, charged_arguments
from gradtrace.lang.library import PLAIN, LibraryFunction, ObjectRefused, admitted, raise_its_own
from gradtrace.lang.unit import UNBOUND, Code, Frame, Operand, Unit
from gradtrace.lang.values import FIXED, ProgramFunction
from gradtrace.lang.words import Names
from gradtrace.program import syntax as ast

NO_KEYWORDS: Names = {}  # must not be modified


class Arguments(NamedTuple):
    """The closures of a call's arguments: `single` for one positional argument, `several` for more, else both None.

    `several` and `keywords` also take the called object, for their error messages.
    """

    single: Code | None
    several: Callable[[Frame, Any], list[Any]] | None
    keywords: Callable[[Frame, Any], Names] | None


class MethodCache:
    """A call site's cache of the attribute `key`: of one module, whose attributes never change, or of all tensors."""

    __slots__ = ("approved", "function", "get", "key", "kind", "module")

    def __init__(self, key: str, unit: Unit) -> None:
        self.key = key
        self.approved = unit.gate.approved(key)
        self.get = unit.gate.find
        self.module: Any = UNBOUND  # the module that has the attribute `function`
        self.kind: type | None = None  # the type whose instances all have the method `function`, unbound
        self.function: Any = None

    def lookup(self, owner: Any) -> Any:
        """Return the attribute of `owner`, read through the gate, and cache it if it is constant."""
        kind = type(owner)
        result = getattr(owner, self.key) if kind in self.approved else self.get(owner, self.key)
        if type(result) is LibraryFunction:
            result = result.__wrapped__
        if kind in FIXED:
            self.module, self.kind, self.function = owner, None, result
        elif kind is Tensor and type(result) is MethodType and type(result.__func__) is FunctionType:
            self.module, self.kind, self.function = UNBOUND, kind, result.__func__
        return result


@compiles(ast.Call)
def compile_call(node: ast.Call, unit: Unit, target: str | None = None) -> Code:
    """Return the closure of a call; with a `target` it stores the result in that frame variable and returns None."""
    if is_bare_super(node, unit):
        return storing(compile_bare_super(node, unit), target)
    return call_code(node, compile_arguments(node, unit), unit, target)


def compile_callee(node: ast.expr, unit: Unit) -> tuple[Operand, MethodCache | None, int]:
    """Return the operand of the called object or, for an attribute, of its owner, with its cache and origin."""
    if isinstance(node, ast.Attribute):
        return unit.operand(node.value), MethodCache(node.attr, unit), unit.origin(node)
    return unit.operand(node), None, 0


def compile_arguments(node: ast.Call, unit: Unit) -> Arguments:
    keywords = keywords_of(node, unit)
    if len(node.args) == 1 and not isinstance(node.args[0], ast.Starred):
        return Arguments(compile_expression(node.args[0], unit), None, keywords)
    return Arguments(None, items_of(node.args, unit) if node.args else None, keywords)


def call_code(node: ast.Call, given: Arguments, unit: Unit, target: str | None) -> Code:
    (name, read), cache, place = compile_callee(node.func, unit)
    single, several, keywords = given
    origin, meter, label = unit.origin(node), unit.meter, dotted_name(node.func)

    def evaluate(f: Frame) -> Any:
        if name is None:
            function = read(f)
        else:
            try:
                function = f[name]
            except KeyError:
                function = read(f)
        receiver = None
        if cache is not None:
            state.origin = place
            if function is cache.module:
                function = cache.function
            elif type(function) is cache.kind:
                receiver, function = function, cache.function
            else:
                function = cache.lookup(function)
        args: Any = (single(f),) if single is not None else () if several is None else several(f, function)
        kwargs = NO_KEYWORDS if keywords is None else keywords(f, function)
        state.origin = origin
        kind = type(function)
        if kind is ProgramFunction:
            result = function._call(tuple(args), kwargs)
        elif kind is MethodType and type(function.__func__) is ProgramFunction:
            result = function.__func__._call((function.__self__, *args), kwargs)
        else:
            meter.left -= 1
            if meter.left < 0:
                meter.grant()
            if kind is LibraryFunction:
                function = function.__wrapped__
            elif kind in HASHING_TYPES:
                args = charged_arguments(function, kind, args, meter)
            try:
                if single is not None:
                    if type(args[0]) not in PLAIN and kind is not BuiltinFunctionType:  # those in C are Python's own
                        args, kwargs = admitted(function, args, kwargs)
                elif several is not None:
                    for value in args:
                        if type(value) not in PLAIN and kind is not BuiltinFunctionType:
                            args, kwargs = admitted(function, args, kwargs)
                            break
                if kwargs:
                    for value in kwargs.values():
                        if type(value) not in PLAIN:
                            args, kwargs = admitted(function, args, kwargs)
                            break
                    result = call_with_keywords(bound(function, receiver), label, args, kwargs)
                elif receiver is None:
                    result = function(*args)
                else:
                    result = function(receiver, *args) if args else function(receiver)
            except Exception as error:
                refuse_call(error, function, receiver, label, args, kwargs)
                raise
        if target is None:
            return result
        f[target] = result

    return evaluate


def storing(code: Code, target: str | None) -> Code:
    if target is None:
        return code

    def evaluate(f: Frame) -> None:
        f[target] = code(f)

    return evaluate


def dotted_name(node: ast.expr) -> str:
    """Return the function's name in a call like x.sum() or torch.linalg.det(x): "x.sum", "linalg.det"; else ""."""
    if not isinstance(node, ast.Attribute):
        return ""
    owner = node.value
    return f"{getattr(owner, 'attr', getattr(owner, 'id', ''))}.{node.attr}"


def refuse_call(error: Exception, function: Any, receiver: Any, label: str, args: Any, kwargs: Names) -> None:
    """Raise TypeError with PyTorch's message instead of `error` if the arguments match no signature of the operator."""
    if isinstance(error, (GradtraceError, MemoryError)):
        return  # at a limit there may be no resources to look up signatures
    from gradtrace.program.refusals import signature_mismatch

    message = signature_mismatch(bound(function, receiver), label, tuple(args), kwargs)
    if message:
        raise TypeError(message) from None
    if type(error) is ObjectRefused and error.before_call:
        raise_its_own(bound(function, receiver), args, kwargs)


def bound(function: Any, receiver: Any) -> Any:
    return function if receiver is None else MethodType(function, receiver)


def keywords_of(node: ast.Call, unit: Unit) -> Callable[[Frame, Any], Names] | None:
    """Return the closure that makes a dict of the keyword arguments; None if there are none."""
    if not node.keywords:
        return None
    pairs = [(k.arg, compile_expression(k.value, unit)) for k in node.keywords]
    if all(name is not None for name, _ in pairs):
        return lambda f, target: {name: value(f) for name, value in pairs}  # type: ignore[misc]

    def evaluate(f: Frame, target: Any) -> Names:
        keywords: Names = {}
        for name, value in pairs:
            if name is not None:
                add_keyword(keywords, name, value(f), target)
            else:
                spread_keywords(keywords, value(f), target)
        return keywords

    return evaluate


def spread_keywords(keywords: Names, mapping: Any, target: Any) -> None:
    if not hasattr(type(mapping), "keys"):
        kind = type(mapping).__name__
        raise TypeError(f"{full_name(target)} argument after ** must be a mapping, not {kind}")
    for key in mapping.keys():  # noqa: SIM118 - any mapping, a dict or not
        if not isinstance(key, str):
            raise TypeError("keywords must be strings")
        add_keyword(keywords, key, mapping[key], target)


def add_keyword(keywords: Names, name: str, value: Any, target: Any) -> None:
    if name in keywords:
        raise TypeError(f"{full_name(target)} got multiple values for keyword argument '{name}'")
    keywords[name] = value


def call_with_keywords(function: Any, label: str, args: Any, kwargs: Names) -> Any:
    """Call with keyword arguments; an operator writes its result to the tensor given as `out`."""
    if kwargs.get("out") is None:
        return function(*args, **kwargs)
    from gradtrace.ops.out import into
    from gradtrace.program.refusals import is_operator

    if not is_operator(function):
        return function(*args, **kwargs)
    rest = {key: value for key, value in kwargs.items() if key != "out"}
    name = label.rpartition(".")[2] or function.__name__
    return into(kwargs["out"], name, function(*args, **rest), (*args, *rest.values()))


# ---- super()


def is_bare_super(node: ast.Call, unit: Unit) -> bool:
    func = node.func
    bare = isinstance(func, ast.Name) and func.id == "super" and not node.args and not node.keywords
    return bare and unit.scope.kind_of("super") == "global" and not unit.is_bound("super")


def compile_bare_super(node: ast.Call, unit: Unit) -> Code:
    """Compile super() without arguments, from the enclosing class and the function's first argument."""
    origin, first = unit.origin(node), unit.scope.first_parameter
    has_class = unit.scope.kind_of("__class__") == "free"
    boxed = first is not None and unit.scope.kind_of(first) == "cell"

    def evaluate(f: Frame) -> Any:
        state.origin = origin
        if first is None:
            raise RuntimeError("super(): no arguments")
        if not has_class:
            raise RuntimeError("super(): __class__ cell not found")
        cls = f["__class__"][0]
        if cls is UNBOUND:
            raise RuntimeError("super(): empty __class__ cell")
        return super(cls, f[first][0] if boxed else f[first])

    return evaluate
