"""Names of torch that query the machine; the only device is the CPU."""

from __future__ import annotations

from gradtrace.annotations import Any, Callable
from gradtrace.lang.arrays import Array, raw

VERSION = "2.13.0"  # the PyTorch version whose behaviour gradtrace reproduces


def return_false(*args: Any, **kwargs: Any) -> bool:
    return False


def return_none(*args: Any, **kwargs: Any) -> None:
    return None


def return_zero() -> int:
    return 0


MODULES: dict[str, dict[str, Any]] = {
    "torch": {"__version__": VERSION},
    "torch.accelerator": {"is_available": return_false, "device_count": return_zero},
    "torch.backends": {},
    "torch.backends.cudnn": {"is_available": return_false},
    "torch.backends.mps": {"is_available": return_false, "is_built": return_false},
    "torch.cuda": {
        "is_available": return_false,
        "device_count": return_zero,
        "empty_cache": return_none,
        "manual_seed": return_none,
        "manual_seed_all": return_none,
        "synchronize": return_none,
    },
}
# Refused names of torch, with the alternative.
TENSORBOARD = "use torch.utils.tensorboard's SummaryWriter with --allow-write DIR, or graph --tensorboard LOGDIR"
FILES = "scripts cannot write files; print the values"
REFUSED = {
    ("torch", "save"): FILES,
    ("torch", "load"): "scripts cannot open files; pass data as an input: --x @FILE",
    ("torch", "compile"): "call the function directly",
    ("torch", "jit"): "call the function directly",
}
FROM_ARRAYS = ("as_tensor", "asarray", "from_numpy", "tensor")


def unwrapped(data: Any) -> Any:
    """Replace an Array, or the Arrays in nested lists, by what they wrap."""
    kind = type(data)
    if kind is Array:
        return raw(data)
    if (kind is list or kind is tuple) and data and type(data[0]) in (Array, list, tuple):
        return kind(map(unwrapped, data))
    return data


def adapt(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a torch function accept Arrays if it creates tensors from data."""
    if name not in FROM_ARRAYS:
        return function

    def call(data: Any, *args: Any, **kwargs: Any) -> Any:
        return function(unwrapped(data), *args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__wrapped__ = function  # type: ignore[attr-defined]
    return call
