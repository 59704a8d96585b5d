"""An operator call as a reader sees it: public names, constants among the arguments, tensors in
reading order.

The engine's records split some operators by the kind of their arguments (`pow_scalar`,
`rsub_scalar`); a trace shows the operator that the program wrote.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Sequence
from gradtrace.engine import Tensor
from gradtrace.engine.operators.op import Op, records
from gradtrace.ops import families

SUFFIXES = ("_scalar", "_scaled", "_tensor", "_dim", "_number", "_ex")
# Options whose names in the records differ from the public ones.
OPTIONS = {
    "np_dtype": "dtype",
    "ignore": "ignore_index",
    "dims": "dim",
    "sizes": "split_size",
    "kernel": "kernel_size",
    "slope": "negative_slope",
}
# what an operator works out for itself
INTERNAL = frozenset({"order", "seen", "over", "others", "wanted"})
# What options say when nobody has set them, by the option's name.
ONES: tuple[Any, ...] = (1, (1,), (1, 1), (1, 1, 1))
ZEROS: tuple[Any, ...] = (0, (0,), (0, 0), (0, 0, 0))
DEFAULTS: dict[str, tuple[Any, ...]] = {
    "alpha": (1,),
    "approximate": ("none",),
    "beta": (1,),
    "bound": (0, 1),
    "correction": (1,),
    "dilation": ONES,
    "eps": (1e-5,),
    "groups": (1,),
    "ignore": (-100,),
    "input_scale": (1,),
    "ord": (2,),
    "output_padding": ZEROS,
    "padding": (-1, *ZEROS),
    "reduction": ("mean",),
    "scale": (1,),
    "step": (1,),
    "stride": ONES,
    "threshold": (20,),
}
LONGEST = 24
# What was found once (functools.cache would do, but functools is slow to import).
_public_names: dict[str, str] = {}
_records: dict[str, Op | None] = {}
_parameters: dict[tuple[str, int], tuple[tuple[str, ...], int]] = {}


def public_name(name: str) -> str:
    """Return the operator's public name: "pow_scalar" is "pow"; an in-place form keeps its
    underscore.
    """
    public = _public_names.get(name)
    if public is None:
        public = _public_name(name)
        if is_loaded(name):
            _public_names[name] = public
    return public


def _public_name(name: str) -> str:
    inplace = name.endswith("_") and not name.startswith("_")
    base = name[:-1] if inplace else name
    record = records.get(base)
    shown = base if record is None else record.public or base
    for suffix in SUFFIXES:
        if shown.endswith(suffix) and record is not None:
            shown = shown.removesuffix(suffix)
    return shown + "_" if inplace else shown


def record_of(name: str) -> Op | None:
    """Return the record behind an operator's public name, in place or not; None for a function of
    several operators.

    The operator's family is loaded first, since a trace may come from a file or from real PyTorch.
    """
    base = name.rstrip("_")
    if base not in _records:
        if base not in records:
            families.load_for(base)
        record = records.get(base)
        if record is None:  # "squeeze" stands for squeeze_dim and its like
            record = next(
                (record for record in records.values() if public_name(record.name) == base), None
            )
        _records[base] = record
    return _records[base]


def parameters(name: str, count: int) -> tuple[tuple[str, ...], int]:
    """Return the names of `count` arguments, and how many of them are operands (the rest are
    options such as dim).

    The operator's family is loaded first: the answer must not depend on what else the process has
    used.
    """
    signature = _parameters.get((name, count))
    if signature is None:
        if not is_loaded(name):
            families.load_for(name.removesuffix("_"))
        signature = _parameters_of(name, count)
        if is_loaded(name):
            _parameters[name, count] = signature
    return signature


def is_loaded(name: str) -> bool:
    """Whether the operator's family is loaded: before that, what is found of it must not be
    cached.
    """
    return name in records or name.removesuffix("_") in records


def _parameters_of(name: str, count: int) -> tuple[tuple[str, ...], int]:
    record = records.get(name) or records.get(name.removesuffix("_"))
    if record is None:
        return tuple(f"arg{i}" for i in range(count)), count
    names = [n.lstrip("*") for n in record.tensor_names + record.plain_names]
    names += [f"arg{i}" for i in range(len(names), count)]
    return tuple(names), record.arity


def reading_order(name: str, args: tuple[Any, ...]) -> Sequence[int]:
    """Return the arguments' positions in the order in which the source shows them."""
    record = records.get(name)
    if record is None or not record.reversed_operands or len(args) < 2:
        return range(len(args))
    return [1, 0, *range(2, len(args))]


def is_option(name: str, position: int, arity: int) -> bool:
    """Whether an argument is shown with its name, as in dim=0; the 2 of pow(x, 2) is an operand,
    shown without.
    """
    return position >= arity and name not in ("exponent", "base", "value")


def tensors_in(value: Any) -> list[Tensor]:
    """Return the tensors in an argument, also within tuples and lists (cat's operands, an
    index).
    """
    if isinstance(value, Tensor):
        return [value]
    if not isinstance(value, (tuple, list)):
        return []
    tensors: list[Tensor] = []
    for item in value:
        if isinstance(item, Tensor):
            tensors.append(item)
        elif isinstance(item, (tuple, list)):
            tensors += tensors_in(item)
    return tensors


def all_tensors(value: Any) -> bool:
    """Whether an argument is a tensor, or a sequence of tensors only."""
    return isinstance(value, Tensor) or (
        isinstance(value, (tuple, list)) and all(map(all_tensors, value))
    )


def is_silent(name: str, value: Any) -> bool:
    """Whether an option is left out of labels, since it is off or has its default."""
    if value is None or name in INTERNAL:
        return True
    if value is False:
        return name != "training"  # a normalisation in evaluation mode is another function
    return isinstance(value, (int, float, str, tuple)) and value in DEFAULTS.get(name, ())


def option_text(name: str, value: Any) -> str:
    """Return an option as source text: "dim=0"."""
    if name in ("dim", "dims") and isinstance(value, tuple) and len(value) == 1:
        value = value[0]
    return f"{OPTIONS.get(name, name)}={constant_text(value)}"


def constant_text(value: Any) -> str:
    """Return a constant argument as source text: "1", "0.5", "(0, 1)", "1:3"."""
    return _clip(_text(value))


def _text(value: Any) -> str:
    if isinstance(value, float):
        whole = abs(value) < 1e16 and value == int(value)
        return f"{value:.1f}".removesuffix(".0") if whole else f"{value:.6g}"
    if isinstance(value, (bool, int, str)) or value is None:
        return str(value)
    if isinstance(value, slice):
        parts = [value.start, value.stop] + ([value.step] if value.step is not None else [])
        return ":".join("" if part is None else _text(part) for part in parts)
    if value is Ellipsis:
        return "..."
    if isinstance(value, (tuple, list)):
        inner = ", ".join("tensor" if isinstance(item, Tensor) else _text(item) for item in value)
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if type(value).__name__ == "ndarray":
        return f"array{tuple(value.shape)}"
    names = (getattr(value, attribute, None) for attribute in ("name", "__name__"))
    return next((name for name in names if name and isinstance(name, str)), type(value).__name__)


def _clip(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
