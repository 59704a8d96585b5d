"""Arguments of pooling: window sizes, the number of windows, and PyTorch's errors."""

from __future__ import annotations

from gradtrace.annotations import Sequence
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Ints
from gradtrace.ops.api import not_a_tensor
from gradtrace.ops.arguments import need_float
from gradtrace.ops.nn.conv_arguments import lengths
from gradtrace.ops.nn.patches import PerDim

COUNT = {1: "one int", 2: "two ints", 3: "three ints"}
AXES = {2: ("H", "W"), 3: ("T", "H", "W")}
# Message of each function for an argument with a wrong number of items.
WRONG = {
    "kernel_size": "must either be a single int, or a tuple of",
    "stride": "must either be omitted, a single int, or a tuple of",
    "padding": "must either be a single int, or a tuple of",
    "dilation": "must be either a single int, or a tuple of",
}


def window(name: str, n: int, *arguments: PerDim | None) -> tuple[Ints, ...]:
    """Return each argument (kernel_size, stride, padding, dilation=1) as a tuple of n numbers.

    The stride defaults to the kernel size.
    """
    results: dict[str, Ints] = {}
    for argument, value in zip(
        WRONG, arguments if len(arguments) == len(WRONG) else (*arguments, 1), strict=True
    ):
        if argument == "stride" and (value is None or value == () or value == []):
            results[argument] = results["kernel_size"]
            continue
        position = " (position 2)" if argument == "kernel_size" else ""
        items = lengths(name, argument, value, n, position)
        if len(items) not in (1, n):
            wrong = WRONG[argument]
            if name == "avg_pool3d" and argument != "stride":
                wrong = wrong.replace("either ", "")
            raise RuntimeError(f"{name}: {argument} {wrong} {COUNT[n]}")
        results[argument] = items * n if len(items) == 1 else items
    return tuple(results.values())


def check_pool(input: Tensor, n: int, where: tuple[Ints, ...], ceil_mode: bool) -> Ints:
    """Return the number of windows along each dim; raise RuntimeError if the window does not fit
    the input.
    """
    kernel, stride, _, dilation = where
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor expected for input")
    for k, s, p, e in zip(*where, strict=True):
        if s == 0:
            raise RuntimeError("stride should not be zero")
        if k < 0:
            break
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > ((k - 1) * e + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and "
                f"dilation={e}"
            )
    for setting, letter, values in (
        ("kernel size", "k", kernel),
        ("stride", "d", stride),
        ("dilation", "", dilation),
    ):
        if any(v <= 0 for v in values):
            pairs = zip(AXES[n], values, strict=True)
            shown = " ".join(
                f"{letter}{axis}: {v}" if letter else f"dilation{axis}: {v}" for axis, v in pairs
            )
            raise RuntimeError(f"{setting} should be greater than zero, but got {shown}")
    return tuple(
        count_windows(size, window, ceil_mode)
        for size, *window in zip(input.shape[-n:], *where, strict=True)
    )


def count_windows(size: int, where: Sequence[int], ceil_mode: bool) -> int:
    """Return the number of windows for (kernel, stride, padding, dilation).

    With ceil_mode the last window may extend beyond the padding, but must not start in it.
    """
    kernel, stride, padding, dilation = where
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
    return count - 1 if ceil_mode and (count - 1) * stride >= size + padding else count


def check_filled(input: Tensor, n: int) -> None:
    """Raise RuntimeError for an empty dim other than the batch."""
    shape = list(input.shape)
    first = 1 if input.ndim == n + 2 else 0
    if all(shape[first:]):
        return
    if n == 3:
        empty = shape[first:].index(0)
        raise RuntimeError(
            "max_pool3d_with_indices_out_cpu_template(): Expected input's non-batch dimensions to have positive "
            f"length, but input has a shape of {shape} and non-batch dimension {empty} has length zero!"
        )
    raise RuntimeError(
        f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with optional 0 dim batch size for input, but got:{shape}"
    )


def check_room(input: Tensor, n: int, out: Ints) -> None:
    if any(size < 1 for size in out):
        planes = input.shape[-n - 1]
        raise RuntimeError(
            f"Given input size: ({join_sizes([planes, *input.shape[-n:]])}). "
            f"Calculated output size: ({join_sizes([planes, *out])}). "
            "Output size is too small"
        )


def join_sizes(sizes: Sequence[int]) -> str:
    return "x".join(map(str, sizes))


def check_max_pool1d(input: Tensor, *arguments: PerDim | None) -> None:
    """Raise max_pool1d's errors, which differ from those of other pooling functions; `arguments` as
    in `window`.
    """
    for argument, value in zip(WRONG, arguments, strict=True):
        items = lengths("max_pool1d", argument, () if value is None else value, 1)
        if len(items) != 1 and not (argument == "stride" and not items):
            raise RuntimeError(
                f"max_pool1d() {argument} must be an int, list of ints or tuple of ints of size 1 but got size "
                f"{len(items)}"
            )
    shape = list(input.shape)
    if input.ndim not in (2, 3) or not all(shape[input.ndim - 2 :]):
        raise RuntimeError(
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but "
            f"got:{shape}"
        )
    (k,), (s,), (p,), (e,) = window("max_pool1d", 1, *arguments)
    for argument, value in (("kernel_size", k), ("stride", s), ("dilation", e)):
        if value <= 0:
            raise RuntimeError(
                f"max_pool1d() {argument} must be greater than zero, but got {value}"
            )
    if p < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {p}")
    if p > k // 2:
        raise RuntimeError(
            f"max_pool1d() padding should be at most half of kernel size, but got padding={p} and kernel_size={k}"
        )
    need_float(input, "max_pool1d_impl")


def check_tensor(name: str, input: object) -> None:
    if not isinstance(input, Tensor):
        raise not_a_tensor(name, "input", 1, input)
