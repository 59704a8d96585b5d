"""Compiler of class statements. The result is a real class, so the library can call its methods."""

from __future__ import annotations

from gradtrace.annotations import Any, Callable
from gradtrace.engine.calls.function import Function as Differentiable
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.errors import UnsupportedError
from gradtrace.lang import allowed, attributes
from gradtrace.lang.expressions import items_of
from gradtrace.lang.known_classes import class_at
from gradtrace.lang.objects import ProgramObject, is_dunder
from gradtrace.lang.special_methods import checked_method
from gradtrace.lang.statements import compile_block
from gradtrace.lang.typing_names import Form
from gradtrace.lang.unit import UNBOUND, Frame, Unit
from gradtrace.lang.values import ProgramFunction, in_place_of
from gradtrace.lang.words import Names, words
from gradtrace.program import syntax as ast

OWN_SLOTS = ("__dict__", "__weakref__")
# Members that a class statement with NamedTuple may not have.
OF_NAMED_TUPLES = words("__init__ __new__ __slots__ _asdict _field_defaults _fields _make _replace")
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
    annotations = annotations_of(node, unit)

    keywords = [(k.arg, unit.compile(k.value), unit.origin(k)) for k in node.keywords]

    def make(f: Frame) -> Any:
        given = bases(f)
        where = origins if len(origins) == len(given) else [origin] * len(given)
        meta: Any = type
        named: Names = {}
        for name, keyword, spot in keywords:
            if name == "metaclass":
                meta = metaclass_of(keyword(f), place(spot))
            else:
                named[name or ""] = keyword(f)
        frame: Frame = {key: f[outer] for key, outer in taken}
        frame[cell] = [UNBOUND]
        replaced = bases_in_name(given)
        parents = () if replaced else checked_bases(gate, given, where, place)
        body(frame)
        state.origin = origin
        members = members_of(frame, annotations)
        check_names(members, place(origin))
        members.update({"__doc__": members.get("__doc__", doc), "__module__": "__main__", "__qualname__": qualname})
        if replaced:
            return replaced(node.name, members, unit)
        cls = create(node.name, parents or (object,), members, meta, gate)
        frame[cell][0] = cls
        notify_parents(cls, named)
        return cls

    return make


def notify_parents(cls: Any, keywords: Names) -> None:
    """Call the `__init_subclass__` of the class's parents with the keywords of the class statement."""
    hooks = (vars(base).get(attributes.INIT_SUBCLASS) for base in cls.__mro__[1:])
    hook = next((one for one in hooks if type(getattr(one, "__func__", None)) is ProgramFunction), None)
    if hook is not None:
        hook.__get__(None, cls)(**keywords)
    elif keywords:
        raise TypeError(f"{cls.__name__}.__init_subclass__() takes no keyword arguments")


def subclass_hook(member: Any, gate: attributes.Gate) -> Any:
    """Return an `__init_subclass__` as a class method, which does nothing for a class that is not yet complete."""
    function, first = getattr(member, "__func__", member), int(type(member) is staticmethod)

    def call(args: Any, kwargs: Any) -> Any:
        return function(*args[first:], **kwargs) if args[0] in gate.own else None

    return classmethod(in_place_of(function, call))


def members_of(frame: Frame, annotations: dict[str, str]) -> Names:
    """Return the members that a class body has bound, without `__del__`, since Python would hide its exceptions."""
    members = {key: value for key, value in frame.items() if not key.startswith(".")}
    members.pop("__del__", None)
    for name in ("__getattr__", "__new__"):
        if name in members:
            members[name] = checked_method(name, members[name])
    if type(members.get("__new__")) is ProgramFunction:
        members["__new__"] = staticmethod(members["__new__"])
    if annotations:
        members.setdefault("__annotations__", dict(annotations))
    return members


def check_names(members: Names, place: Any) -> None:
    """Raise UnsupportedError for a special method that programs may not define, in whatever way a body names it."""
    slots, notes = members.get("__slots__", ()), members.get("__annotations__", {})
    slots = (slots,) if type(slots) is str else tuple(slots)
    if type(notes) is not dict or not all(type(name) is str for name in (*slots, *notes)):
        raise TypeError("__slots__ and __annotations__ must be names as strings, __annotations__ in a dict")
    if "__slots__" in members:
        members["__slots__"] = slots
    refused = [name for name in (*members, *notes) if is_dunder(name) and not offered_method(name)]
    if refused:
        raise refused_method(refused[0], place)
    refused = [name for name in slots if is_dunder(name) and name not in OWN_SLOTS]
    if refused:
        raise UnsupportedError(f"the special name '{refused[0]}' cannot be a slot", "rename it or remove it", place)


def create(name: str, parents: tuple[type, ...], members: Names, meta: Any, gate: attributes.Gate) -> Any:
    """Return a new class of the program, known to the gate."""
    if attributes.is_enum(parents[-1]):
        from gradtrace.lang import enumerations

        return enumerations.make_enum(name, parents, members, gate)
    if type(members.get(attributes.INIT_SUBCLASS)) in (ProgramFunction, classmethod, staticmethod):
        members[attributes.INIT_SUBCLASS] = subclass_hook(members[attributes.INIT_SUBCLASS], gate)
    parents = tuple(ProgramObject if parent is object else parent for parent in parents)
    best = metaclass(parents)
    cls = (meta if issubclass(meta, best) else best)(name, parents, members)
    gate.adopt(cls)
    return cls


def metaclass_of(given: Any, place: Any) -> Any:
    if type(given) is Form and given.is_named("ABCMeta"):
        from abc import ABCMeta

        return ABCMeta
    raise UnsupportedError("metaclasses other than ABCMeta are not part of the language", "leave it out", place)


# ---- bases that stand for another class


def bases_in_name(given: list[Any]) -> Callable[[str, Names, Unit], Any] | None:
    """Return the function that makes the class if a base is typing's NamedTuple or TypedDict; else None."""
    for base in given:
        if type(base) is Form and base.is_named("NamedTuple"):
            return make_named_tuple
        if type(base) is Form and base.is_named("TypedDict"):
            return lambda name, members, unit: dict
    return None


def make_named_tuple(name: str, members: Names, unit: Unit) -> Any:
    """Return the class of a `class Name(NamedTuple)`."""
    fields = list(members.get("__annotations__", {}))
    defaults = [members[field] for field in fields if field in members]
    late = fields[len(fields) - len(defaults) :] if defaults else []
    for field in fields:
        if field in members and field not in late:
            raise TypeError(f"non-default namedtuple field {late[-1]} cannot follow default field {field}")
    made = unit.machine.modules.python.namedtuple(name, fields, defaults=defaults)
    for key, value in members.items():
        if key in OF_NAMED_TUPLES:
            raise AttributeError(f"Cannot overwrite NamedTuple attribute {key}")
        if key not in fields and key not in ("__annotations__", "__qualname__", "__module__"):
            setattr(made, key, value)
    return made


def annotations_of(node: ast.ClassDef, unit: Unit) -> dict[str, str]:
    """Return the annotated names of a class body with the texts of their annotations, which are not evaluated."""
    text = unit.machine.source.text
    found = [(n.target, n.annotation) for n in node.body if isinstance(n, ast.AnnAssign)]
    return {t.id: ast.get_source_segment(text, a) or "" for t, a in found if isinstance(t, ast.Name)}


def metaclass(parents: tuple[type, ...]) -> Any:
    """Return the most derived of the parents' metaclasses."""
    meta: type = type
    for parent in parents:
        if issubclass(type(parent), meta):
            meta = type(parent)
    return meta


def checked_bases(gate: attributes.Gate, given: list[Any], origins: list[int], place: Any) -> tuple[type, ...]:
    """Return the classes to derive from; raise UnsupportedError for one that programs may not derive from."""
    plain = [(base, origin) for base, origin in zip(given, origins) if not (type(base) is Form and base.is_base)]
    stand_in = class_at("gradtrace.lang.enumerations:EnumBase")
    with_enum = any(type(base) is stand_in or attributes.is_enum(base) for base, _ in plain)
    parents = []
    for base, origin in plain:
        if with_enum:
            from gradtrace.lang import enumerations

            if type(base) is enumerations.EnumBase or base in enumerations.MIXED:
                parents.append(base._kind if type(base) is enumerations.EnumBase else base)
                continue
        parents.append(checked_base(gate, base, origin, place))
    return tuple(parents)


def checked_base(gate: attributes.Gate, parent: Any, origin: int, place: Any) -> type:
    """Return `parent` if programs may derive from it; else raise UnsupportedError."""
    if parent is object or parent in gate.own or (isinstance(parent, type) and attributes.is_abstract(parent)):
        known: type = parent
        return known
    if not isinstance(parent, type) or issubclass(parent, Tensor):  # a subclass could replace what the engine reads
        raise refused_base(parent, place(origin))
    if issubclass(parent, (Differentiable, Exception)) or attributes.is_open(parent):
        return parent
    raise refused_base(parent, place(origin))


def refused_base(parent: Any, place: Any) -> UnsupportedError:
    name = getattr(parent, "__name__", None) or type(parent).__name__
    return UnsupportedError(f"'{name}' cannot be a base class here", BASES, place)


def offered_method(name: str) -> bool:
    return name in allowed.MAGIC or name in allowed.CLASS_NAMES


def refuse_methods(node: ast.ClassDef, unit: Unit) -> None:
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and is_dunder(item.name) and not offered_method(item.name):
            raise refused_method(item.name, unit.machine.place(unit.origin(item)))


def refused_method(name: str, place: Any) -> UnsupportedError:
    import difflib

    close = difflib.get_close_matches(name, sorted(allowed.MAGIC), 1, 0.8)
    hint = f"did you mean {close[0]}?" if close else "rename it or remove it"
    return UnsupportedError(f"the special method '{name}' is not available in gradtrace scripts", hint, place)
