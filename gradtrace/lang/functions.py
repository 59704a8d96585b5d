"""Functions and classes of a program: own objects, callable from the library (hooks, forward, backward, sort keys)."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import MethodType
from typing import Any

from gradtrace.errors import UnsupportedError
from gradtrace.lang.expressions import compile_expression
from gradtrace.lang.scope import Frame, Unit

MAGIC = frozenset(["__init__", "__call__", "__len__", "__getitem__", "__setitem__", "__iter__", "__repr__", "__str__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__add__", "__radd__", "__iadd__", "__sub__", "__rsub__", "__isub__", "__mul__", "__rmul__", "__imul__", "__truediv__", "__rtruediv__", "__itruediv__", "__floordiv__", "__mod__", "__pow__", "__rpow__", "__matmul__", "__rmatmul__", "__neg__", "__pos__", "__abs__", "__bool__", "__contains__", "__hash__", "__enter__", "__exit__", "__float__", "__int__", "__and__", "__or__", "__invert__", "__doc__", "__name__", "__format__", "__next__"])


class Function:
    """A function of a program: its compiled body, its defaults, and the frame it was made in."""

    __slots__ = ("__dict__", "__weakref__", "_bind", "_body", "_frame", "_meter", "_owner")

    def __init__(self, name: str, doc: str | None, body: Any, frame: Frame, bind: Any, meter: Any) -> None:
        self.__name__ = name
        self.__doc__ = doc
        self._body, self._frame, self._bind, self._meter = body, frame, bind, meter
        self._owner: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        frame = Frame(self._frame)
        self._bind(frame.vars, args, kwargs)
        frame.owner = self._owner
        frame.first = args[0] if args else None
        meter = self._meter
        meter.step()
        if meter.depth >= meter.budget.call_depth:
            raise RecursionError("maximum recursion depth exceeded")
        meter.depth += 1
        try:
            return self._body(frame)
        finally:
            meter.depth -= 1

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<function {self.__name__} at {id(self):#x}>"


def assigned_names(body: list[Any]) -> tuple[set[str], dict[str, str]]:
    """The names a function body binds, and those it declares global or nonlocal."""
    names: set[str] = set()
    outer: dict[str, str] = {}
    stack = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            outer.update(dict.fromkeys(node.names, type(node).__name__))
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
            stack.extend(node.decorator_list)
            continue
        elif isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            names |= {n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr)}
            continue
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name.split(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
        stack.extend(ast.iter_child_nodes(node))
    return names, outer


def function_maker(node: Any, name: str, unit: Unit) -> Callable[[Frame], Function]:
    """Compiles a def or lambda; the result makes the Function in a frame."""
    body = node.body if isinstance(node.body, list) else [node.body]
    names, outer = assigned_names(body)
    a = node.args
    parameters = [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
    names |= {*parameters, *(p.arg for p in (a.vararg, a.kwarg) if p)}
    inner = unit.child(names)
    for key, kind in outer.items():
        inner.outer[key] = levels_up(inner, key, kind)
    defaults = [compile_expression(d, unit) for d in a.defaults]
    kw_defaults = [None if d is None else compile_expression(d, unit) for d in a.kw_defaults]
    meter = unit.meter
    if isinstance(node, ast.Lambda):
        run = compile_expression(node.body, inner)
        doc = None
    else:
        from gradtrace.lang.statements import RETURN, compile_block

        block = compile_block(body, inner)
        doc = ast.get_docstring(node)

        def run(f: Frame) -> Any:
            return f.result if block(f) is RETURN else None

    def make(f: Frame) -> Function:
        values = [d(f) for d in defaults]
        kw_values = {k.arg: d(f) for k, d in zip(a.kwonlyargs, kw_defaults, strict=True) if d is not None}
        return Function(name, doc, run, f, binder(name, a, values, kw_values), meter)

    return make


def levels_up(unit: Unit, name: str, kind: str) -> int:
    """How many frames up a global or nonlocal name lives."""
    depth, parent = 0, unit
    while parent.parent is not None:
        parent, depth = parent.parent, depth + 1
        if kind == "Nonlocal" and parent.kind == "function" and name in parent.names:
            return depth + parent.outer.get(name, 0)
    if kind == "Global":
        parent.names.add(name)
    return depth


def binder(name: str, a: ast.arguments, defaults: list[Any], kw_defaults: dict[str, Any]) -> Any:
    """Puts a call's arguments into the frame's variables, with Python's TypeErrors."""
    positional = [p.arg for p in (*a.posonlyargs, *a.args)]
    n, first_default = len(positional), len(positional) - len(defaults)
    only_positional = {p.arg for p in a.posonlyargs}
    keyword_only = [p.arg for p in a.kwonlyargs]
    rest, extra = a.vararg and a.vararg.arg, a.kwarg and a.kwarg.arg
    simple = not (rest or extra or keyword_only)

    def bind(variables: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if simple and not kwargs and len(args) == n:
            variables.update(zip(positional, args, strict=True))
            return
        if len(args) > n and not rest:
            raise TypeError(f"{name}() takes {n} positional argument{'s' if n != 1 else ''} but {len(args)} "
                            f"{'were' if len(args) != 1 else 'was'} given")
        variables.update(zip(positional, args))
        if rest:
            variables[rest] = tuple(args[n:])
        spare: dict[str, Any] = {}
        for key, value in kwargs.items():
            if key in variables and key in positional and key not in only_positional:
                raise TypeError(f"{name}() got multiple values for argument '{key}'")
            if (key in positional and key not in only_positional) or key in keyword_only:
                variables[key] = value
            elif extra:
                spare[key] = value
            else:
                raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
        if extra:
            variables[extra] = spare
        fill_defaults(variables)

    def fill_defaults(variables: dict[str, Any]) -> None:
        missing = []
        for i, key in enumerate(positional):
            if key not in variables:
                if i >= first_default:
                    variables[key] = defaults[i - first_default]
                else:
                    missing.append(key)
        if missing:
            shown = " and ".join(f"'{m}'" for m in missing)
            raise TypeError(f"{name}() missing {len(missing)} required positional argument"
                            f"{'s' if len(missing) > 1 else ''}: {shown}")
        for key in keyword_only:
            if key not in variables:
                if key not in kw_defaults:
                    raise TypeError(f"{name}() missing 1 required keyword-only argument: '{key}'")
                variables[key] = kw_defaults[key]

    return bind


def class_maker(node: ast.ClassDef, unit: Unit) -> Callable[[Frame], Any]:
    """Compiles a class statement; the class is a real one, its methods are Functions."""
    from gradtrace.lang.statements import compile_block

    names, _ = assigned_names(node.body)
    inner = unit.child(names, kind="class")
    bases = [compile_expression(b, unit) for b in node.bases]
    body = compile_block(node.body, inner)
    doc = ast.get_docstring(node)
    if node.keywords:
        raise UnsupportedError("class keywords are not part of the language", "leave them out",
                               unit.source.place(unit.spans[unit.origin(node)]))

    def make(f: Frame) -> Any:
        parents = tuple(b(f) for b in bases) or (object,)
        for base in parents:
            if base is not object and not offered_base(base):
                raise TypeError(f"'{getattr(base, '__name__', base)}' cannot be a base class here")
        frame = Frame(f)
        body(frame)
        for key in frame.vars:
            if key.startswith("__") and key not in MAGIC:
                raise UnsupportedError(f"the method '{key}' is not offered", "leave it out")
        namespace = {**frame.vars, "_user_class": True, "__module__": "__main__", "__doc__": doc}
        made = type(parents[0]) (node.name, parents, namespace) if parents[0] is not object else type(
            node.name, parents, namespace)
        for value in frame.vars.values():
            inside = getattr(value, "__func__", getattr(value, "fget", value))
            inside = getattr(inside, "_wrapped_function", inside)
            if isinstance(inside, Function):
                inside._owner = made
        return made

    return make


def offered_base(base: Any) -> bool:
    from gradtrace.engine import Function as Differentiable

    if not isinstance(base, type):
        return False
    if hasattr(base, "_user_class") or issubclass(base, (Differentiable, Exception)):
        return True
    return base.__module__.startswith("gradtrace.nn") or base.__module__.startswith("gradtrace.optim")
