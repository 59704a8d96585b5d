"""The PyTorch modules that classes show in their repr: `<class 'torch.nn.modules.linear.Linear'>`."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from gradtrace.lazy_names import homes, words

# Classes that share a module here but not in PyTorch; `gradtrace.optim` adds its own.
MOVED = homes("nn.modules", {
    "activation": "MultiheadAttention", "channelshuffle": "ChannelShuffle", "container": "ParameterDict ParameterList",
    "distance": "CosineSimilarity PairwiseDistance", "flatten": "Flatten Unflatten", "fold": "Fold Unfold",
    "pixelshuffle": "PixelShuffle PixelUnshuffle", "upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
})  # fmt: skip

# Base classes whose constructor their subclasses share in PyTorch too; any other layer has a constructor of its own.
SHARED = words("""object Module _AdaptiveAvgPoolNd _AdaptiveMaxPoolNd _BatchNorm _DropoutNd _InstanceNorm _LPPoolNd
    _Lazy _LazyInstanceNorm _Loss _MaxPoolNd _WeightedLoss""")


def home(cls: type) -> str:
    """Return the full name of a class, with PyTorch's module for a class of this package."""
    package, _, rest = cls.__module__.partition(".")
    if package != "gradtrace":
        return f"{cls.__module__}.{cls.__qualname__}"
    if rest.startswith("optim.lr_scheduler"):
        rest = "optim.lr_scheduler"
    return f"torch.{MOVED.get(cls.__qualname__, rest)}.{cls.__qualname__}"


class Homed(type):
    """A metaclass that gives a class the repr of PyTorch's class, and its constructor the name that messages show."""

    def __init__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any], **keywords: Any) -> None:
        super().__init__(name, bases, members)
        if not cls.__module__.startswith("gradtrace."):
            return
        made: Any = cls.__init__  # type: ignore[misc]
        base = made.__qualname__.partition(".")[0]
        if base == name or base in SHARED:
            return
        own = FunctionType(made.__code__, made.__globals__, "__init__", made.__defaults__, made.__closure__)
        own.__kwdefaults__, own.__annotations__ = made.__kwdefaults__, made.__annotations__
        own.__qualname__ = f"{name}.__init__"
        cls.__init__ = own  # type: ignore[misc]

    def __repr__(cls) -> str:
        return f"<class '{home(cls)}'>"
