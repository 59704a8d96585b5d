"""The attribute gate: decides by exact type which attributes a program may read, set and delete.

Each run has its own Gate, which knows the classes that the program defines. Decisions that depend on the type
alone are cached: `approved(name)` is a set of types shared by all expressions that read this name, so that compiled
code usually needs only one set lookup.
"""

from __future__ import annotations

from gradtrace import ops
from gradtrace.annotations import Any, Callable
from gradtrace.engine.function import BackwardCFunction
from gradtrace.engine.node import Node
from gradtrace.engine.tensor import Tensor
from gradtrace.lang import allowed
from gradtrace.lang.allowed import BY_TYPE, MAGIC, NAMED, OF_CLASS, OF_EXCEPTION, OPEN_PRIVATE
from gradtrace.lang.attribute_errors import AttributeRule, attribute_refused, read_only
from gradtrace.lang.library import FUNCTIONS, ObjectRefused, admit, for_program
from gradtrace.lang.object_fields import Attributes, Fields, fields_of, is_dunder, is_public, without_special_names
from gradtrace.lang.values import Flags, Frozen, ProgramFunction, TypeName
from gradtrace.lang.words import words


class Gate:
    """The attribute access of one run; `special` maps (type, name) to a replacement for Python's value."""

    def __init__(self, special: dict[tuple[type, str], Callable[[Any], Any]]) -> None:
        self.special = special
        self.own: set[type] = set()  # the program's classes
        self.rules: dict[type, AttributeRule] = {}
        self.known: dict[str, set[type]] = {}
        self.readable_types: dict[str, set[type]] = {}
        self.settable_types: dict[str, set[type]] = {}
        self.type_names: dict[type, TypeName] = {}
        self.special[object, "__setattr__"] = lambda _: self.set_plainly

    def adopt(self, cls: type) -> None:
        """Register a class that the program has defined."""
        self.own.add(cls)

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
        special = self.special.get((kind, name))
        if special is not None:
            return special(value)
        rule = self.rules.get(kind)
        if rule is None:
            rule = self.rules[kind] = self.rule_for(kind)
        if kind in (ProgramFunction, TypeName, super) or issubclass(kind, (Node, type, BaseException)):
            return self.get_by_value(value, name, rule)
        if not rule(value, name):
            raise attribute_refused(value, name, rule)
        if name == "__new__":
            return found_new(self, value)
        if name == "__dict__":
            return fields_of(value)
        if name == "__dataclass_fields__":
            return dict(value.__dataclass_fields__)  # its methods use the fields
        if name == "dtype" and kind.__module__ == "numpy" and issubclass(kind, (float, int)):
            return value._dtype
        result = getattr(value, name)
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
        if name == "__dataclass_fields__":
            return dict(value.__dataclass_fields__)
        if isinstance(value, type) and (value, name) in self.special:
            return self.special[value, name](value)
        if name == "__new__":
            return found_new(self, value)
        return getattr(value._kind if type(value) is TypeName else value, name)

    def rule_for(self, kind: type) -> AttributeRule:
        """Return the function (value, name) -> bool that says which attributes of a type's instances may be read."""
        if kind in self.own:
            return self.rule_for_own(kind)
        listed = BY_TYPE.get(dict if kind is Fields else kind)
        if listed is None:
            listed = allowed.BY_NAME.get(allowed.qualified(kind))
        if listed is not None:
            return lambda value, name: name in listed
        if issubclass(kind, Tensor):
            return lambda value, name: is_tensor_attribute(name)
        if issubclass(kind, Node):
            return lambda value, name: name in allowed.NODE or name.startswith(("_saved_", "_raw_saved_"))
        if issubclass(kind, type):
            return self.class_offers
        if kind is super:
            return self.super_offers
        if issubclass(kind, BaseException):
            return lambda value, name: name in OF_EXCEPTION or (is_public(name) and name not in OBJECTS)
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
        if kind.__module__ == "torch.return_types":
            fields = frozenset((*kind._fields, "count", "index"))  # type: ignore[attr-defined]
            return lambda value, name: name in fields
        known = python_type(kind)
        return lambda value, name: name in known

    def rule_for_own(self, kind: type) -> AttributeRule:
        """Return `rule_for` a class of the program: all names except the private ones of its library bases."""
        hidden = {n for c in kind.__mro__ if c not in self.own and c is not object for n in vars(c) if n[:1] == "_"}
        hidden = hidden - OPEN_PRIVATE | (OBJECTS if issubclass(kind, BaseException) else set())
        plain = all(c in self.own or c is object for c in kind.__mro__)
        sunders = type(kind) is not type and type(kind).__module__ == "enum"

        def rule(value: Any, name: str) -> bool:
            if is_dunder(name):
                return name in MAGIC or name in NAMED or (plain and name in OF_PLAIN) or (sunders and name == MEMBERS)
            return name not in hidden and not (sunders and name.startswith("_") and name.endswith("_"))

        return rule

    def class_offers(self, value: Any, name: str) -> bool:
        """Whether a program may read an attribute of a class."""
        if name in NAMED:
            return True
        if name == "mro":
            return False
        if value in self.own:
            found = name != "register" or any(name in vars(c) for c in value.__mro__)  # not ABCMeta's
            return found and self.rule_for_own(value)(value, name) and name != "__dict__"
        listed = class_attributes(value)
        if listed is not None:
            return name in listed
        if issubclass(value, BaseException):
            return name in ("__init__", "__str__", "__repr__")
        if issubclass(value, Tensor):
            return is_tensor_attribute(name) and name not in ("numpy", "data", "grad")
        return is_public(name) or name in MAGIC if self.is_offered(value) else False

    def super_offers(self, value: Any, name: str) -> bool:
        """Whether a program may read the attribute through super(): the rules of the object itself apply."""
        target = value.__self__
        return target is not None and self.rule_of(type(target))(target, name)

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
        if kind is Fields:
            return dict
        return kind if self.is_offered(kind) else self.type_name(kind)

    def type_name(self, kind: type) -> TypeName:
        if kind not in self.type_names:
            self.type_names[kind] = TypeName(kind)
        return self.type_names[kind]

    def is_offered(self, kind: type) -> bool:
        """Whether a program may use and call the class itself."""
        if kind in self.own or class_attributes(kind) is not None or issubclass(kind, Tensor):
            return True
        if issubclass(kind, BaseException):
            return kind.__module__ == "builtins" or kind.__name__ in ("LinAlgError", "GradcheckError")
        return is_open(kind) or allowed.qualified(kind) in CONSTRUCTED or type(kind).__name__ == "LegacyType"

    # ---- setting

    def assign(self, target: Any, name: str, value: Any) -> None:
        """Set target.name; raise AttributeError if the program may not."""
        kind = type(target)
        if isinstance(target, BackwardCFunction) and not is_inner(name):
            vars(target)[name] = value  # kept separate from the node's own fields, which have similar names
        elif self.may_set(target, kind, name):
            value = self.checked_value(target, kind, name, value)
            setattr(target, name, value)
            if kind in self.own:
                self.settable(name).add(kind)
        else:
            raise read_only(target, name, self.rule_of(kind))

    def checked_value(self, target: Any, kind: type, name: str, value: Any) -> Any:
        """Return the value that an attribute is set to: one that the library's object has takes plain values only."""
        if name == "__getattr__":
            return without_special_names(value, MAGIC)
        if kind in self.own or not is_open(kind) or not hasattr(target, name):
            return value
        try:
            return admit(value, callables=True)
        except ObjectRefused as error:
            raise TypeError(f"{kind.__name__}.{name} {error}") from None

    def may_set(self, target: Any, kind: type, name: str) -> bool:
        if kind in self.own:
            return not is_dunder(name) and self.rule_of(kind)(target, name)
        if isinstance(target, type):
            return target in self.own and (not is_dunder(name) or name in MAGIC or name in ("__doc__", "__name__"))
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
            self.rules[kind] = self.rule_for(kind)
        return self.rules[kind]

    def remove(self, target: Any, name: str) -> None:
        """Delete target.name; raise AttributeError if the program may not."""
        if isinstance(target, BackwardCFunction) and name in vars(target) and not is_inner(name):
            del vars(target)[name]
        elif self.may_set(target, type(target), name):
            delattr(target, name)
        else:
            raise read_only(target, name, self.rule_of(type(target)))


OF_PLAIN = words("__dict__ __annotations__ __dataclass_fields__ __match_args__ __slots__")
MEMBERS = "__members__"  # of an enumeration
# Withheld attributes of exceptions: a library object, and the method that sets a traceback.
OBJECTS = frozenset({"obj", "with_traceback"})
# Classes outside nn and optim that programs may call.
CONSTRUCTED = frozenset(
    {
        "gradtrace.engine.dtypes.dtype",
        "gradtrace.engine.describe.device",
        "gradtrace.engine.describe.Size",
        "gradtrace.engine.modes.no_grad",
        "gradtrace.engine.modes.enable_grad",
        "gradtrace.engine.modes.inference_mode",
        "gradtrace.engine.modes.set_grad_enabled",
        "gradtrace.engine.modes.set_detect_anomaly",
        "gradtrace.engine.modes.detect_anomaly",
        "gradtrace.engine.function.Function",
        "gradtrace.autograd.Variable",
        "gradtrace.ops.random.generator.Generator",
        "gradtrace.random.fork_rng",
        "gradtrace.ops.create.dtype_limits.finfo",
        "gradtrace.ops.create.dtype_limits.iinfo",
    }
)


def class_attributes(kind: type) -> frozenset[str] | None:
    """Return the readable attributes of a Python class; None if programs may not access the class."""
    listed = OF_CLASS.get(kind)
    return allowed.OF_NAMED_CLASS.get(allowed.qualified(kind)) if listed is None else listed


def make_new(gate: Gate) -> Callable[..., Any]:
    """Return a version of `object.__new__` that accepts only the program's own classes."""

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(cls, type) or cls not in gate.own:
            raise TypeError("object.__new__(X): X is not a class of the program")
        if args or kwargs:
            raise TypeError("object.__new__() takes exactly one argument (the type to instantiate)")
        if not all(c in gate.own or c is object or c.__module__ == "gradtrace.nn.modules.module" for c in cls.__mro__):
            raise TypeError(f"object.__new__({cls.__name__}): {cls.__name__} has a base class of the library")
        return object.__new__(cls)

    new.__name__, new.__qualname__ = "__new__", "object.__new__"
    return new


def found_new(gate: Gate, value: Any) -> Any:
    """Return the `__new__` of a class or of super(): the program's, or else the gated `object.__new__`."""
    found = getattr(value, "__new__", None)
    return found if type(found) is ProgramFunction else make_new(gate)


INNER_OF_CTX = ("_dirty", "_is_tensor", "_materialize", "_non_differentiable", "_saved", "_to_save")


def is_inner(name: str) -> bool:
    """Whether the name is special to Python, or a private field that the engine keeps in a Function's `ctx`."""
    return is_dunder(name) or name in INNER_OF_CTX


def is_open(kind: type) -> bool:
    return (kind.__module__ + ".").startswith(allowed.OPEN_MODULES) and issubclass(kind, object)


def is_abstract(kind: type) -> bool:
    """Whether a class is abc.ABC, from which programs may derive."""
    return kind.__module__ == "abc" and kind.__name__ == "ABC"


def is_tensor_attribute(name: str) -> bool:
    """Whether tensors have an attribute of this name: one on the list, or an operator."""
    if name in allowed.TENSOR:
        return True
    if name.startswith("_"):
        return False
    return ops.find(ops.api.methods, name) is not None or (name.endswith("_") and hasattr(Tensor, name))


def python_type(kind: type) -> frozenset[str]:
    """Return the readable attributes of functools' types for partial objects and cached functions."""
    if kind.__module__ != "functools":
        return frozenset()
    if kind.__name__ == "partial":
        return words("func args keywords")
    return words("cache_clear cache_info __wrapped__") | NAMED if "lru_cache" in kind.__name__ else frozenset()
