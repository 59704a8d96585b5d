"""PyTorch's error messages for calls whose arguments match no signature.

`signatures.txt` has one line for each function: its table (f torch, m Tensor, l linalg, s special,
n nn.functional), its name (`name=NAME` if messages use another NAME), a code (1: one signature; 0:
no arguments; +: one signature is shown, others are not), and the signatures. The file is read only
after a call has failed, so a successful call has no overhead. Messages and their order follow
torch/csrc/utils/python_arg_parser.cpp and invalid_arguments.cpp.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, NamedTuple, Sequence
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.describe import Size, device
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lazy_names import words

# Python accepts an int for these one-element tuples.
ONE_FOR_ALL = frozenset(
    {
        "dim",
        "kernel_size",
        "stride",
        "padding",
        "dilation",
        "output_size",
        "output_padding",
        "shifts",
    }
)
# Functions that accept a number in place of a tensor.
NUMBERS_TOO = frozenset(
    f"{name}{end}"
    for end in ("", "_")
    for name in words("""
        add sub subtract mul multiply div divide true_divide floor_divide fmod remainder rsub eq ne lt le gt ge
        bitwise_and bitwise_or bitwise_xor copy
    """)
)
NUMPY_NAMES = {
    "dim": ("axis",),
    "keepdim": ("keepdims",),
    "input": ("x", "a", "x1"),
    "other": ("x2",),
}


class Parameter(NamedTuple):
    type: str
    name: str
    default: str | None
    keyword_only: bool


class Signature(NamedTuple):
    text: str
    parameters: tuple[Parameter, ...]

    @property
    def positional(self) -> int:
        return sum(not p.keyword_only for p in self.parameters)

    @property
    def least(self) -> int:
        return sum(p.default is None for p in self.parameters)


class Listed(NamedTuple):
    name: str
    form: str
    signatures: tuple[Signature, ...]


_listed: dict[tuple[str, str], str] = {}


def find_signatures(table: str, name: str) -> Listed | None:
    """Return the signatures of a PyTorch function, or None for an unknown one."""
    if not _listed:
        read_table()
    line = _listed.get((table, name))
    if line is None:
        return None
    _, names, form, *rest = line.split(" ", 3)
    signatures = tuple(signature(text) for text in rest[0].split(" | ")) if rest else ()
    return Listed(names.rpartition("=")[2], form, signatures)


def read_table() -> None:
    from importlib.resources import files

    text = (files("gradtrace.ops") / "signatures.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        table, names, _ = line.split(" ", 2)
        _listed[table, names.partition("=")[0]] = line


def signature(text: str) -> Signature:
    results = []
    keyword_only = False
    for item in split_items(text):
        if item == "*":
            keyword_only = True
            continue
        head, _, default = item.partition(" = ")
        kind, _, name = head.rpartition(" ")
        results.append(Parameter(kind, name, default or None, keyword_only))
    return Signature(text, tuple(results))


def split_items(text: str) -> list[str]:
    return [item for item in text[1:-1].split(", ") if item]


# ---- matching a call


def refusal(table: str, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> str:
    """Return PyTorch's error message for a call that matches no signature; "" if it matches or is
    unknown.
    """
    overloads = find_signatures(table, name)
    if overloads is None:
        return ""
    if overloads.form == "0":
        return no_arguments(overloads.name, args, named)
    problems = [mismatch(overloads.name, s, args, named) for s in overloads.signatures]
    if "" in problems:
        return ""
    late = next(
        (p for p in problems if "failed to unpack" in p or p.startswith("expected Tensor")), ""
    )
    if late:
        return late
    if overloads.form == "1":
        return mismatch(overloads.name, overloads.signatures[0], args, named)
    argument_count = len(args) + len(named)
    plausible = [s for s in overloads.signatures if s.least <= argument_count <= len(s.parameters)]
    if len(plausible) == 1:
        return mismatch(overloads.name, plausible[0], args, named)
    return no_combination(overloads, args, named)


def no_arguments(name: str, args: tuple[Any, ...], named: dict[str, Any]) -> str:
    if named:
        return f"TensorBase.{name}() takes no keyword arguments"
    return f"TensorBase.{name}() takes no arguments ({len(args)} given)" if args else ""


def mismatch(name: str, s: Signature, args: tuple[Any, ...], named: dict[str, Any]) -> str:
    """Return why a call does not match one signature; "" if it matches."""
    parameters = s.parameters
    spread = s.positional == 1 and parameters[0].type == "tuple of ints"
    if len(args) > s.positional and not spread:
        return too_many(name, s, len(args))
    place = 0
    used = 0
    for i, p in enumerate(parameters):
        by_name = place >= len(args)
        if not by_name and p.keyword_only:
            return too_many(name, s, len(args))
        value = args[place] if not by_name else by_its_name(p, named)
        if value is MISSING:
            if p.default is None:
                return missing(name, parameters[i:])
            continue
        used += by_name
        problem = "" if value is None and p.default == "None" else refused(name, p, value)
        if problem and spread and place == 0 and not by_name and is_int(args[0]):
            problem = bad_list(p, args)
            if not problem:
                place = len(args)
                continue
        if problem.startswith("expected"):
            return problem.format(i)
        if problem:
            where = "" if by_name else f" (position {place + 1})"
            return f"{name}(): argument '{p.name}'{where if problem[0] != 'f' else ''} {problem}"
        place += not by_name
    if place < len(args):
        return too_many(name, s, len(args))
    if used < len(named):
        return unexpected(name, s, named, len(args))
    return ""


MISSING = object()


def by_its_name(p: Parameter, named: dict[str, Any]) -> object:
    for name in (p.name, *NUMPY_NAMES.get(p.name, ())):
        if name in named:
            return named[name]
    return MISSING


def too_many(name: str, s: Signature, count: int) -> str:
    most = s.positional
    least = sum(not p.keyword_only and p.default is None for p in s.parameters)
    if least != most:
        return f"{name}() takes from {least} to {most} positional arguments but {count} were given"
    plural = "" if most == 1 else "s"
    return f"{name}() takes {most} positional argument{plural} but {count} {'was' if count == 1 else 'were'} given"


def missing(name: str, rest: tuple[Parameter, ...]) -> str:
    names = [f'"{p.name}"' for p in rest if p.default is None]
    plural = "s" if len(names) == 1 else ""  # PyTorch's plural is inverted
    return f"{name}() missing {len(names)} required positional argument{plural}: {', '.join(names)}"


def unexpected(name: str, s: Signature, named: dict[str, Any], count: int) -> str:
    for key in named:
        places = [
            i
            for i, p in enumerate(s.parameters)
            if key == p.name or key in NUMPY_NAMES.get(p.name, ())
        ]
        if not places:
            return f"{name}() got an unexpected keyword argument '{key}'"
        if places[0] < count:
            return f"{name}() got multiple values for argument '{key}'"
    return f"{name}(): invalid keyword arguments"


# ---- matching a value


def refused(name: str, p: Parameter, value: Any) -> str:
    """Return the end of PyTorch's message about a value of the wrong type; "" for the right
    type.
    """
    kind = p.type
    if kind in LISTS and issubclass(type(value), (tuple, list)):
        return bad_list(p, value)
    if kind == "tuple of ints" and (p.name in ONE_FOR_ALL or name == "roll") and is_int(value):
        return ""
    if kind == "tuple of floats" and is_number(value):
        return ""
    if kind == "Tensor" and is_number(value) and name in NUMBERS_TOO and p.name != "input":
        return ""
    check = CHECKS.get(kind)
    fits = check(value) if check else kind not in LISTS
    return "" if fits else f"must be {kind}, not {type_name(value)}"


def bad_list(p: Parameter, items: Sequence[Any]) -> str:
    """Return the same as `refused`, for a list: the message for its first item differs from that
    for the others.
    """
    wrong = next((i for i, item in enumerate(items) if not LISTS[p.type](item)), None)
    if wrong is None:
        return ""
    got = type_name(items[wrong])
    if p.type == "tuple of Tensors":
        return f"expected Tensor as element {wrong} in argument {{}}, but got {got}"
    if wrong == 0:
        return f"must be {p.type}, but found element of type {got} at pos 0"
    return f'failed to unpack the object at pos {wrong + 1} with error "type must be {p.type},but got {got}"'


def is_tensor(value: object) -> bool:
    return issubclass(type(value), Tensor)  # isinstance would ask the value for its class


def is_int(value: Any) -> bool:
    if is_tensor(value):
        return value.ndim == 0 and value.dtype.category == dtypes.INTEGER
    return type(value) is not bool and is_whole(type(value))


def is_whole(kind: type) -> bool:
    return issubclass(kind, int) or (kind.__module__ == "numpy" and hasattr(kind, "__index__"))


def is_number(value: Any) -> bool:
    if is_tensor(value):
        return value.ndim == 0 and not value.requires_grad
    kind = type(value)
    return issubclass(kind, (int, float)) or is_whole(kind) or kind.__name__ == "float64"


def is_dtype(value: object) -> bool:
    return type(value) is dtypes.dtype or any(value is kind for kind in (float, int, bool))


CHECKS: dict[str, Callable[[Any], bool]] = {
    "Tensor": is_tensor,
    "int": is_int,
    "Number": is_number,
    "float": is_number,
    "bool": lambda value: type(value) is bool,
    "torch.dtype": is_dtype,
    "str": lambda value: issubclass(type(value), str),
    "torch.device": lambda value: issubclass(type(value), (str, device, int)),
}
LISTS: dict[str, Callable[[Any], bool]] = {
    "tuple of ints": is_int,
    "tuple of floats": is_number,
    "tuple of Tensors": is_tensor,
}


def type_name(value: object) -> str:
    """Return the name of a value's type in PyTorch's messages."""
    if type(value) is dtypes.dtype:
        return "torch.dtype"
    if type(value) is Size:
        return "torch.Size"
    name = type(value).__name__
    return "numpy.ndarray" if name == "ndarray" else name


# ---- none of several signatures matches


def words_of(text: str) -> list[str]:
    """Return the items of a signature; as in PyTorch's messages, `*` and an empty list count as
    items too.
    """
    return text[1:-1].split(", ")


def no_combination(listed: Listed, args: tuple[Any, ...], named: dict[str, Any]) -> str:
    start = f"{listed.name}() received an invalid combination of arguments - got"
    if len(listed.signatures) == 1:
        only = listed.signatures[0]
        wrong = unmatched(only, named)
        if wrong:
            return f"{start} unrecognized keyword arguments: {wrong}"
        fits = len(words_of(only.text)) == len(args) + len(named)
        got = marked(only, args, named) if fits else list_types(args, named)
        return f"{start} {got}, but expected {only.text}"
    lines = [f"{start} {list_types(args, named)}, but expected one of:"]
    for s in listed.signatures:
        lines.append(f" * {s.text}")
        if len(words_of(s.text)) != len(args) + len(named):
            continue
        wrong = unmatched(s, named)
        if wrong:
            lines.append(f"      didn't match because some of the keywords were incorrect: {wrong}")
        else:
            lines.append(
                f"      didn't match because some of the arguments have invalid types: {marked(s, args, named)}"
            )
    return "\n".join(lines) + "\n"


def unmatched(s: Signature, named: dict[str, Any]) -> str:
    """Return the keywords not among a signature's last items; as in PyTorch, an item "a=1" does not
    match keyword a.
    """
    items = [item.rpartition(" ")[2] for item in words_of(s.text)]
    last = items[max(len(items) - len(named), 0) :]
    return ", ".join(key for key in reversed(named) if key not in last)


def list_types(args: tuple[Any, ...], named: dict[str, Any]) -> str:
    got = [type_name(a) for a in args] + [f"{k}={type_name(v)}" for k, v in reversed(named.items())]
    return f"({', '.join(got)}{', ' if named and not args else ''})"


def marked(s: Signature, args: tuple[Any, ...], named: dict[str, Any]) -> str:
    """Return the types of the arguments; a type that differs from the signature's is put between
    exclamation marks.
    """
    items = words_of(s.text)
    results = []
    for i in range(len(args) + len(named)):
        kind, _, name = items[i].rpartition(" ")
        by_name = i >= len(args)
        value = named[name] if by_name else args[i]
        shown = (f"{name}=" if by_name else "") + described(value)
        results.append(shown if matches(kind, value) else f"!{shown}!")
    return f"({', '.join(results)})"


def matches(kind: str, value: object) -> bool:
    got = type_name(value)
    return got == kind or (kind == "float" and got in ("int", "float"))


def described(value: Any) -> str:
    if not issubclass(type(value), (tuple, list)):
        return type_name(value)
    inner = ", ".join(type_name(item) for item in value)
    if issubclass(type(value), list):
        return f"{type_name(value)} of [{inner}]"
    return f"{type_name(value)} of ({inner}{',' if len(value) == 1 else ''})"
