"""What scripts ask torch about the machine, and the library has no use for: there is one device, the CPU."""

from __future__ import annotations

from gradtrace.annotations import Any, Callable
from gradtrace.lang.arrays import Array, raw

VERSION = "2.13.0"  # of PyTorch, whose behaviour this is


def never(*args: Any, **kwargs: Any) -> bool:
    return False


def nothing(*args: Any, **kwargs: Any) -> None:
    return None


def zero() -> int:
    return 0


MODULES: dict[str, dict[str, Any]] = {
    "torch": {"__version__": VERSION},
    "torch.accelerator": {"is_available": never, "device_count": zero},
    "torch.backends": {},
    "torch.backends.cudnn": {"is_available": never},
    "torch.backends.mps": {"is_available": never, "is_built": never},
    "torch.cuda": {
        "is_available": never,
        "device_count": zero,
        "empty_cache": nothing,
        "manual_seed": nothing,
        "manual_seed_all": nothing,
        "synchronize": nothing,
    },
}
# What torch has and the language refuses, with what to do instead.
TENSORBOARD = "torch.utils.tensorboard's SummaryWriter writes, with --allow-write DIR; or graph --tensorboard LOGDIR"
FILES = "programs have no files; print what you want to keep"
REFUSED = {
    ("torch", "save"): FILES,
    ("torch", "load"): "programs have no files; give data as an input: --x @FILE",
    ("torch", "compile"): "call the function as it is",
    ("torch", "jit"): "call the function as it is",
}
FROM_ARRAYS = ("as_tensor", "asarray", "from_numpy", "tensor")


def adapted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """torch's function of this name, for an argument that `tensor.numpy()` gave."""
    if name not in FROM_ARRAYS:
        return function

    def run(data: Any, *args: Any, **kwargs: Any) -> Any:
        return function(raw(data) if type(data) is Array else data, *args, **kwargs)

    run.__name__ = run.__qualname__ = name
    run.__wrapped__ = function  # type: ignore[attr-defined]
    return run
