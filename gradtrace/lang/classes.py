"""Compiler of class statements. The result is a real class, so the library can call its methods."""

from __future__ import annotations

from gradtrace.annotations import Any, Callable
from gradtrace.engine.function import Function as Differentiable
from gradtrace.engine.state import state
from gradtrace.errors import UnsupportedError
from gradtrace.lang import allowed, attributes
from gradtrace.lang import syntax as ast
from gradtrace.lang.expressions import items_of
from gradtrace.lang.statements import compile_block
from gradtrace.lang.typing_names import Form
from gradtrace.lang.unit import UNBOUND, Frame, Unit

BASES = "a class may derive from the program's own, nn.Module and layers, autograd.Function, optimisers and Exception"


def compile_class(node: ast.ClassDef, unit: Unit) -> Callable[[Frame], Any]:
    """Return the closure that creates the class."""
    inner = unit.child(node)
    refuse_methods(node, unit)
    bases, origins = items_of(node.bases, unit), [unit.origin(b) for b in node.bases]
    body = compile_block(node.body, inner)
    doc, qualname = ast.get_docstring(node, clean=False), inner.scope.qualname
    taken = [(inner.scope.cell_key(name), unit.scope.cell_key(name)) for name in sorted(inner.scope.free)]
    cell = inner.scope.cell_key("__class__")
    gate, origin, place = unit.gate, unit.origin(node), unit.machine.place

    def make(f: Frame) -> Any:
        candidates = [b for b in bases(f) if not (type(b) is Form and b.is_base)]
        where = origins if len(origins) == len(candidates) else [origin] * len(candidates)
        parents = tuple(checked_base(gate, p, o, place) for p, o in zip(candidates, where)) or (object,)
        frame: Frame = {key: f[outer] for key, outer in taken}
        frame[cell] = [UNBOUND]
        body(frame)
        state.origin = origin
        members = {key: value for key, value in frame.items() if not key.startswith(".")}
        for key in members:
            if attributes.is_dunder(key) and not offered_method(key):
                raise refused_method(key, place(origin))
        members.update({"__doc__": members.get("__doc__", doc), "__module__": "__main__", "__qualname__": qualname})
        cls = metaclass(parents)(node.name, parents, members)
        frame[cell][0] = cls
        gate.adopt(cls)
        return cls

    return make


def metaclass(parents: tuple[type, ...]) -> Any:
    """Return the most derived of the parents' metaclasses."""
    meta: type = type
    for parent in parents:
        if issubclass(type(parent), meta):
            meta = type(parent)
    return meta


def checked_base(gate: attributes.Gate, parent: Any, origin: int, place: Any) -> type:
    """Return `parent` if programs may derive from it; else raise UnsupportedError."""
    if parent is object or parent in gate.own:
        known: type = parent
        return known
    if isinstance(parent, type) and (issubclass(parent, (Differentiable, Exception)) or attributes.is_open(parent)):
        return parent
    name = getattr(parent, "__name__", None) or type(parent).__name__
    raise UnsupportedError(f"'{name}' cannot be a base class here", BASES, place(origin))


def offered_method(name: str) -> bool:
    return name in allowed.MAGIC or name in allowed.CLASS_NAMES


def refuse_methods(node: ast.ClassDef, unit: Unit) -> None:
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and attributes.is_dunder(item.name) and not offered_method(item.name):
            raise refused_method(item.name, unit.machine.place(unit.origin(item)))


def refused_method(name: str, place: Any) -> UnsupportedError:
    import difflib

    close = difflib.get_close_matches(name, sorted(allowed.MAGIC), 1, 0.8)
    hint = f"did you mean {close[0]}?" if close else "rename it or remove it"
    return UnsupportedError(f"the special method '{name}' is not available in gradtrace scripts", hint, place)
