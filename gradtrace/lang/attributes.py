"""The attribute gate: decides by exact type which attributes a program may read, set and delete.

Each run has its own Gate, which knows the classes that the program defines. Decisions that depend on the type
alone are cached: `approved(name)` is a set of types shared by all expressions that read this name, so that compiled
code usually needs only one set lookup.
"""

from __future__ import annotations

from types import MappingProxyType

from gradtrace import ops
from gradtrace.annotations import Any, AnyFunction, Callable
from gradtrace.engine.calls.function import BackwardCFunction
from gradtrace.engine.data.node import Node
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lang import allowed
from gradtrace.lang.allowed import MAGIC, NAMED, OPEN_PRIVATE
from gradtrace.lang.attribute_errors import AttributeRule, attribute_refused, read_only
from gradtrace.lang.exceptions import KNOWN, as_known, claim, related
from gradtrace.lang.known_classes import ByClass, class_at, defining_class, is_defined_in
from gradtrace.lang.library import FUNCTIONS, ObjectRefused, admit, for_program
from gradtrace.lang.objects import ProgramObject, is_dunder, is_public
from gradtrace.lang.special_methods import checked_method
from gradtrace.lang.unbound import from_class
from gradtrace.lang.values import Attributes, Flags, Frozen, ProgramFunction, TypeName
from gradtrace.lang.words import words
from gradtrace.ops.results import Result

Special = dict[tuple[type, str], AnyFunction]


class Gate:
    """The attribute access of one run.

    `special` maps (type, name) to a replacement for Python's value; `late` returns those of a type that is first seen.
    """

    def __init__(self, special: Special, late: Callable[[type], Special]) -> None:
        self.special = special
        self.late = late
        self.own: set[type] = set()  # the program's classes
        self.rules: dict[type, AttributeRule] = {}
        self.known: dict[str, set[type]] = {}
        self.readable_types: dict[str, set[type]] = {}
        self.settable_types: dict[str, set[type]] = {}
        self.type_names: dict[type, TypeName] = {}
        self.offered: dict[type, bool] = {}
        self.special[object, "__setattr__"] = lambda _: self.set_plainly

    def adopt(self, cls: type) -> None:
        """Register a class that the program has defined."""
        self.own.add(cls)
        self.rules.pop(cls, None)
        self.offered.pop(cls, None)

    def approved(self, name: str) -> set[type]:
        """Return the set of types whose attribute `name` is known to be readable."""
        return self.known.setdefault(name, set())

    def readable(self, name: str) -> set[type]:
        """Return the approved types whose attribute `name` is never a function of the library."""
        return self.readable_types.setdefault(name, set())

    def settable(self, name: str) -> set[type]:
        """Return the set of types whose attribute `name` is known to be settable."""
        return self.settable_types.setdefault(name, set())

    # ---- reading

    def get(self, value: Any, name: str) -> Any:
        """Return value.name; raise AttributeError if the program may not read it."""
        kind = type(value)
        result = getattr(value, name) if kind in self.approved(name) else self.find(value, name)
        if type(result) in FUNCTIONS:
            return for_program(result)
        if kind in self.approved(name) and not is_open(kind):  # a layer's attribute may be a function in another one
            self.readable(name).add(kind)
        return result

    def find(self, value: Any, name: str) -> Any:
        """Return value.name for the compiler of calls, which checks the arguments of a method itself."""
        kind = type(value)
        if name == "__class__":
            return self.type_of(value)
        rule = self.rule_of(kind)
        special = self.special.get((kind, name))
        if special is not None:
            return special(value)
        if kind is super:
            return self.get_from_super(value, name)
        if kind in (ProgramFunction, TypeName) or issubclass(kind, (Node, type, BaseException)):
            return self.get_by_value(value, name, rule)
        if not rule(value, name):
            raise attribute_refused(value, name, rule)
        if kind in self.own:
            special = self.special_of(defining_class(kind.__mro__, name), name)
            if special is not None:  # not approved, since Python's method must not be read in another way
                return getattr(value, name) if name in getattr(value, "__dict__", ()) else special(value)
        elif name == "dtype" and issubclass(kind, (float, int)):
            return value._dtype
        result = getattr(value, name)
        if type(result) in SHARED and self.is_shared(kind, name, result):
            return SHARED[type(result)](result)
        if isinstance(result, BaseException):
            return as_known(result)
        if isinstance(result, type) and not issubclass(kind, Frozen) and not self.is_offered(result):
            return self.type_name(result)
        self.approved(name).add(kind)
        return result

    def get_by_value(self, value: Any, name: str, rule: AttributeRule) -> Any:
        """Return value.name if the decision or the result depends on the value and not on its type alone."""
        if isinstance(value, BackwardCFunction) and name in vars(value) and not is_inner(name):
            return vars(value)[name]
        if not rule(value, name):
            raise attribute_refused(value, name, rule)
        if isinstance(value, BaseException):
            return related(value, name) if name in ("__cause__", "__context__") else getattr(value, name)
        if not isinstance(value, type):
            return getattr(value._kind if type(value) is TypeName else value, name)
        if name == "numpy" and issubclass(value, Tensor):
            return lambda tensor, **how: self.special[Tensor, name](tensor)(**how)
        self.rule_of(value)  # so that its special methods are known
        if (value, name) in self.special:
            return self.special[value, name](value)
        if name == "__new__":
            return found_new(self, value)
        result = getattr(value, name)
        if type(result) in SHARED and self.is_shared(value, name, result):
            return SHARED[type(result)](result)
        if isinstance(result, type) and not self.is_offered(result):
            return self.type_name(result)
        source = defining_class(value.__mro__, name)
        return result if source in self.own else from_class(source, name, result)

    def get_from_super(self, value: Any, name: str) -> Any:
        """Return the attribute of a `super()`: the rules of its object apply, and of the class that has the name."""
        target, kind = SUPER_SELF.__get__(value), SUPER_KIND.__get__(value)
        classes = () if kind is None else kind.__mro__[kind.__mro__.index(SUPER_CLASS.__get__(value)) + 1 :]
        source = defining_class(classes, name)
        from_type = target is kind
        if source is None or not (self.class_offers if from_type else self.instance_offers)(source, target, name):
            raise attribute_refused(value, name, lambda _, other: False)
        if name == "__new__":
            return found_new(self, value)
        special = self.special_of(source, name)
        if special is not None and not from_type:
            return special(target)
        if isinstance(target, BaseException) and name in ("__cause__", "__context__"):
            return related(target, name)
        result = getattr(value, name)
        return from_class(source, name, result) if from_type and source not in self.own else result

    def special_of(self, source: type | None, name: str) -> AnyFunction | None:
        """Return the replacement for a method that a program's class has from a class of Python."""
        return None if source is None or source in self.own else self.special.get((source, name))

    def is_shared(self, kind: type, name: str, value: Any) -> bool:
        """Whether a container belongs to a class of the library, or is a table of Python: programs get a copy."""
        source = defining_class(kind.__mro__, name)
        shared = source is not None and source not in self.own and vars(source)[name] is value
        return shared or type(value) is MappingProxyType

    def rule_for(self, kind: type) -> AttributeRule:
        """Return the function (value, name) -> bool that says which attributes of a type's instances may be read."""
        if kind in self.own:
            return lambda value, name: self.instance_offers(defining_class(kind.__mro__, name), value, name)
        listed = allowed.OF_INSTANCES.get(kind)
        if listed is None:
            listed = next(filter(None, map(allowed.OF_DERIVED.get, kind.__mro__)), None)
        if listed is not None:
            return lambda value, name: name in listed
        if issubclass(kind, Tensor):
            return lambda value, name: is_tensor_attribute(name)
        if issubclass(kind, Node):
            return lambda value, name: name in allowed.NODE or name.startswith(("_saved_", "_raw_saved_"))
        if issubclass(kind, type):
            return lambda value, name: self.class_offers(defining_class(value.__mro__, name), value, name)
        if issubclass(kind, BaseException):
            fields = KNOWN.get(kind) or frozenset()
            return lambda value, name: name in fields or (is_public(name) and name in vars(value))
        if issubclass(kind, Flags):
            return lambda value, name: is_public(name) or name in NAMED or name in value._listed
        if issubclass(kind, Frozen):
            return lambda value, name: is_public(name) or name in NAMED or name == "__version__"
        if issubclass(kind, Attributes):
            return lambda value, name: not is_dunder(name) or name == "__dict__"
        if kind is ProgramFunction:
            return lambda value, name: name in NAMED or name == "__wrapped__" or name in vars(value)
        if is_open(kind):
            return lambda value, name: is_public(name) or name in OPEN_PRIVATE or name in ("__call__", "__len__")
        if issubclass(kind, Result):
            fields = frozenset((*kind._fields, "count", "index"))
            return lambda value, name: name in fields
        return lambda value, name: False

    def instance_offers(self, source: type | None, value: Any, name: str) -> bool:
        """Whether a program may read an attribute of an instance of its own class, which `source` defines.

        A class of the library or of Python offers what it offers of its own instances, and special methods.
        """
        kind = type(value)
        if source is None or source in OBJECTS or source in self.own:
            return self.own_offers(kind, name)
        if name == INIT_SUBCLASS:
            return False  # the library's hooks take keywords that name functions
        special = name in NAMED or (name in MAGIC and not (name in UNMETERED and source in allowed.BY_TYPE))
        return special or self.rule_of(source)(value, name)

    def own_offers(self, kind: type, name: str) -> bool:
        """Whether a program may read what its class `kind` defines."""
        if is_dunder(name):
            return name in MAGIC or name in NAMED or (name in OF_PLAIN and self.is_plain(kind))
        return not (name[:1] == name[-1:] == "_" and name not in VALUE and is_enum(kind))

    def is_plain(self, kind: type) -> bool:
        return all(c in self.own or c in OBJECTS for c in kind.__mro__)

    def class_offers(self, source: type | None, value: Any, name: str) -> bool:
        """Whether a program may read an attribute of the class `value`, which `source` defines."""
        if name in NAMED:
            return True
        if source is None:
            return name == MEMBERS and is_enum(value)
        if source in self.own or (source in OBJECTS and value in self.own):
            return self.own_offers(value, name) and name != "__dict__"
        if name == INIT_SUBCLASS:
            return False
        if value in self.own and name in MAGIC and not (name in UNMETERED and source in allowed.BY_TYPE):
            return True
        base = source if value in self.own else value
        listed = allowed.OF_CLASS.get(base)
        if listed is not None:
            return name in listed
        if issubclass(base, BaseException):
            return name in ("__init__", "__str__", "__repr__")
        if issubclass(base, Tensor):
            return is_tensor_attribute(name) and name not in ("data", "grad")
        return (is_public(name) or name in MAGIC) and (value in self.own or self.is_offered(value))

    def names_of(self, value: Any) -> list[str]:
        """Return the names of the attributes that a program may read, as dir() does."""
        rule = self.rule_of(type(value))
        listed = getattr(value, "__all__", None) if isinstance(value, Frozen) else None
        return sorted(n for n in (dir(value) if listed is None else listed) if type(n) is str and rule(value, n))

    # ---- types

    def type_of(self, value: Any) -> Any:
        """Return the class of a value if programs may call it; else a TypeName, its placeholder."""
        kind = type(value)
        if kind is TypeName or issubclass(kind, type):
            return self.type_name(type)
        if kind is class_at("gradtrace.lang.text_arrays:TextArray"):
            return self.type_name(value.__class__)
        return kind if self.is_offered(kind) else self.type_name(kind)

    def type_name(self, kind: type) -> TypeName:
        if kind not in self.type_names:
            self.type_names[kind] = TypeName(kind)
        return self.type_names[kind]

    def is_offered(self, kind: type) -> bool:
        """Whether a program may use and call the class itself."""
        known = self.offered.get(kind)
        if known is None:
            known = self.offered[kind] = kind in self.own or is_offered_class(kind)
        return known

    # ---- setting

    def assign(self, target: Any, name: str, value: Any) -> None:
        """Set target.name; raise AttributeError if the program may not."""
        kind = type(target)
        if isinstance(target, BackwardCFunction) and not is_inner(name):
            vars(target)[name] = value  # kept separate from the node's own fields, which have similar names
        elif self.may_set(target, kind, name):
            setattr(target, name, checked_value(self, target, name, value))
            if kind in self.own:
                self.settable(name).add(kind)
            self.forget(target, name)
            claim(target)
        else:
            raise read_only(target, name, self.rule_of(kind))

    def forget(self, target: Any, name: str) -> None:
        """Forget decisions about a name after a change of a class: another class may define it now."""
        if isinstance(target, type):
            self.approved(name).clear()
            self.readable(name).clear()
            self.settable(name).clear()

    def may_set(self, target: Any, kind: type, name: str) -> bool:
        if kind in self.own:
            return not is_dunder(name) and self.rule_of(kind)(target, name)
        if isinstance(target, type):
            if is_dunder(name):
                return target in self.own and (name in MAGIC or name in ("__doc__", "__name__"))
            return target in self.own and self.own_offers(target, name)
        if issubclass(kind, Tensor):
            return name in allowed.TENSOR_SETTABLE
        if issubclass(kind, Attributes):
            return not is_dunder(name)
        if kind is ProgramFunction:
            return not name.startswith("_") or name in NAMED
        if issubclass(kind, Flags):
            return name in target._flags
        return is_public(name) and (is_open(kind) or issubclass(kind, BaseException))

    def set_plainly(self, target: Any, name: str, value: Any) -> None:
        """Implement object.__setattr__ for objects of the program's classes."""
        kind = type(target)
        if kind not in self.own or type(name) is not str or is_dunder(name) or not self.rule_of(kind)(target, name):
            raise TypeError("object.__setattr__ sets attributes of the program's own objects")
        object.__setattr__(target, name, value)

    def rule_of(self, kind: type) -> AttributeRule:
        if kind not in self.rules:
            self.special.update(self.late(kind))
            self.rules[kind] = self.rule_for(kind)
        return self.rules[kind]

    def remove(self, target: Any, name: str) -> None:
        """Delete target.name; raise AttributeError if the program may not."""
        if isinstance(target, BackwardCFunction) and name in vars(target) and not is_inner(name):
            del vars(target)[name]
        elif self.may_set(target, type(target), name):
            delattr(target, name)
            self.forget(target, name)
        else:
            raise read_only(target, name, self.rule_of(type(target)))


INIT_SUBCLASS = "__init_subclass__"
OF_PLAIN = words("__dict__ __annotations__ __dataclass_fields__ __match_args__ __slots__")
OBJECTS = (object, ProgramObject)
# Containers that a class may share with its instances, and what a program gets instead.
SHARED: dict[type, type] = {MappingProxyType: dict, dict: dict, list: list, set: set}
# Methods of numbers and strings whose results may be very large; the operators charge the budget for them.
UNMETERED = words("__format__ __lshift__ __mod__ __mul__ __pow__ __rlshift__ __rmod__ __rmul__ __rpow__")
MEMBERS = "__members__"  # of an enumeration
VALUE = ("_name_", "_value_")  # of a member; the other names of this form belong to Python's Enum
SUPER_SELF, SUPER_KIND, SUPER_CLASS = (vars(super)[f"__{name}__"] for name in ("self", "self_class", "thisclass"))
LEGACY = ByClass({"gradtrace.ops.create.legacy:LegacyType": True})


def is_offered_class(kind: type) -> bool:
    """Whether programs may use and call a class of Python or of the library."""
    if allowed.OF_CLASS.get(kind) is not None or issubclass(kind, Tensor):
        return True
    if issubclass(kind, BaseException):
        return KNOWN.get(kind) is not None
    return is_open(kind) or allowed.CONSTRUCTED.get(kind) or LEGACY.get(type(kind)) or False


def make_new(gate: Gate) -> AnyFunction:
    """Return a version of `object.__new__` that accepts only the program's own classes."""

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(cls, type) or cls not in gate.own:
            raise TypeError("object.__new__(X): X is not a class of the program")
        if args or kwargs:
            raise TypeError("object.__new__() takes exactly one argument (the type to instantiate)")
        if not all(c in gate.own or c in OBJECTS or type(c) is enum_type() for c in cls.__mro__):
            raise TypeError(f"object.__new__({cls.__name__}): {cls.__name__} has a base class of the library")
        return object.__new__(cls)

    new.__name__, new.__qualname__ = "__new__", "object.__new__"
    return new


def found_new(gate: Gate, value: Any) -> Any:
    """Return the `__new__` of a class or of super(): the program's, or else the gated `object.__new__`."""
    found = getattr(value, "__new__", None)
    return found if type(found) is ProgramFunction else make_new(gate)


def checked_value(gate: Gate, target: Any, name: str, value: Any) -> Any:
    """Return the value that an attribute is set to: one that the library's object has takes plain values only."""
    if isinstance(target, type):
        return checked_method(name, value)
    kind = type(target)
    if kind in gate.own or not is_open(kind) or not hasattr(target, name):
        return value
    try:
        return admit(value, callables=True)
    except ObjectRefused as error:
        raise TypeError(f"{kind.__name__}.{name} {error}") from None


INNER_OF_CTX = ("_dirty", "_is_tensor", "_materialize", "_non_differentiable", "_saved", "_to_save")


def is_inner(name: str) -> bool:
    """Whether the name is special to Python, or a private field that the engine keeps in a Function's `ctx`."""
    return is_dunder(name) or name in INNER_OF_CTX


def is_open(kind: type) -> bool:
    return is_defined_in(kind, allowed.OPEN_MODULES)


def is_abstract(kind: type) -> bool:
    """Whether a class is abc.ABC, from which programs may derive."""
    return kind is class_at("abc:ABC")


def enum_type() -> type | None:
    """Return the metaclass of Python's enumerations; None if `enum` is not imported."""
    return class_at("enum:EnumType")


def is_enum(kind: type) -> bool:
    meta = enum_type()
    return meta is not None and isinstance(kind, meta)


def is_tensor_attribute(name: str) -> bool:
    """Whether tensors have an attribute of this name: one on the list, or an operator."""
    if name in allowed.TENSOR:
        return True
    if name.startswith("_"):
        return False
    return ops.find(ops.api.methods, name) is not None or (name.endswith("_") and hasattr(Tensor, name))
