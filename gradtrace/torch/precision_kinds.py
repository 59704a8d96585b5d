"""What the float64 runs of PyTorch's operations need to know of each: what it writes to, what is
random or a decision.

The operations are those below autograd (`aten::`), whose schemas say most of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from gradtrace.lazy_names import words
from gradtrace.torch.precision_shadows import WIDE, size_of_storage

# functions of floating-point numbers that are constant between their steps: the shadow takes the
# step of the run
STEPS = frozenset(
    words("""sign sgn round floor ceil trunc heaviside fill_ zero_ floor_ ceil_ round_ trunc_
    sign_ sgn_""")
)
# results that have the elements of their first argument and maybe zeros, if the dtype is the same
MOVES = frozenset(["clone", "_to_copy", "select_backward", "slice_backward"])
# backward formulas that ask on which side of a threshold their second argument was
THRESHOLDS = frozenset(
    f"{name}_backward"
    for name in ("threshold", "hardtanh", "leaky_relu", "hardshrink", "softshrink", "hardsigmoid")
)
MEMORY = frozenset(
    ["set_", "resize_", "resize_as_", "_resize_output_", "_local_scalar_dense", "equal", "isclose"]
    + ["_amp_update_scale_"]
)
# By operator: the argument whose last dim is summed over.
CONTRACTED = {"mm": 0, "bmm": 0, "mv": 0, "dot": 0, "vdot": 0, "addmm": 1, "baddbmm": 1, "addmv": 1}
# By operator: the argument that is the dim to sum along.
ALONG = {"_softmax": 1, "_log_softmax": 1, "_safe_softmax": 1, "cumsum": 1, "logcumsumexp": 1}
SUMS = frozenset(
    words("""sum mean nansum norm linalg_vector_norm var std var_mean std_mean logsumexp
    nll_loss_forward""")
)


class KernelFacts(NamedTuple):
    """The properties of an operation. An argument is named by its place, or by its keyword."""

    name: str
    is_view: bool  # it computes nothing: a view, memory, constants
    writes: frozenset[Any]
    is_random: bool
    fresh: tuple[bool, ...]  # of each result, whether it is a new tensor
    names: tuple[str, ...]  # of the arguments


_kinds: dict[Any, KernelFacts] = {}


def kind_of(func: Any) -> KernelFacts:
    """Return the properties of an operation; found once for each."""
    kind = _kinds.get(func)
    if kind is None:
        kind = _kinds[func] = _kind_of(func)
    return kind


def _kind_of(func: Any) -> KernelFacts:
    schema = func._schema
    name = schema.name.rpartition("::")[2]
    writes: set[Any] = set()
    for place, parameter in enumerate(schema.arguments):
        hidden = (
            "batch_norm" in name
            and "backward" not in name
            and parameter.name in ("running_mean", "running_var")
        )
        if hidden or (parameter.alias_info is not None and parameter.alias_info.is_write):
            writes |= {place, parameter.name}
    aliases = [output.alias_info for output in schema.returns]
    creates = name.endswith("_like") or name.startswith("new_")
    is_view = (
        creates
        or name in MEMORY
        or any(alias is not None and not alias.is_write for alias in aliases)
    )
    is_random = torch.Tag.nondeterministic_seeded in func.tags
    fresh = tuple(alias is None for alias in aliases)
    return KernelFacts(
        name,
        is_view,
        frozenset(writes),
        is_random,
        fresh,
        tuple(parameter.name for parameter in schema.arguments),
    )


def argument(kind: KernelFacts, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    """Return an argument by its name; None if it was not given."""
    if name in kwargs or name not in kind.names:
        return kwargs.get(name)
    place = kind.names.index(name)
    return args[place] if place < len(args) else None


def is_drawn(kind: KernelFacts, args: Any, kwargs: dict[str, Any]) -> bool:
    """Whether the result depends on random numbers; attention without dropout does not."""
    return kind.is_random and not (
        "dropout_p" in kind.names and not argument(kind, args, kwargs, "dropout_p")
    )


def is_kept(kind: KernelFacts, place: Any) -> bool:
    """Whether a kernel takes an argument in its own dtype only: an optimiser's counters, a scaler's
    numbers.
    """
    name = kind.names[place] if isinstance(place, int) and place < len(kind.names) else place
    return name in ("state_steps", "grad_scale", "found_inf", "inv_scale")


def is_product(kind: KernelFacts, kwargs: dict[str, Any]) -> bool:
    """Whether an operation is a product of two matrices, its last arguments, maybe added to its
    first.
    """
    return kind.name in ("mm", "bmm", "addmm", "baddbmm") and not kwargs


def overwrites(kind: KernelFacts, tensor: Any) -> bool:
    """Whether an operation writes to a tensor without reading it, and so to its whole storage."""
    return kind.name in ("copy_", "fill_", "zero_") and tensor.numel() == size_of_storage(tensor)


def widened(kind: KernelFacts, place: Any, value: Any) -> Any:
    """Return an argument that is not a tensor as the float64 run on the CPU takes it."""
    if isinstance(value, torch.dtype):
        return WIDE[value.is_complex] if value.is_floating_point or value.is_complex else value
    if isinstance(value, torch.device):
        return torch.device("cpu")
    if value is True and isinstance(place, int) and kind.names[place] == "half_to_float":
        return False
    return value


def terms_of(kind: KernelFacts, args: Any, tensors: list[Any], results: list[Any]) -> int:
    """Return how many numbers an operation sums up for each element of its result."""
    if kind.name in CONTRACTED:
        return int(args[CONTRACTED[kind.name]].shape[-1])
    if kind.name == "convolution":
        return int(args[1].numel() // max(args[1].shape[0], 1))
    if kind.name in ALONG:
        return int(args[0].shape[args[ALONG[kind.name]]]) if args[0].dim() else 1
    if kind.name not in SUMS:
        return 1
    sizes = [tensor.numel() for tensor in results if tensor.numel()]
    return (
        max(1, max((tensor.numel() for tensor in tensors), default=1) // min(sizes, default=1))
        if sizes
        else 1
    )
