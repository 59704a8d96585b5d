"""The PyTorch modules that classes show in their repr: `<class
'torch.nn.modules.linear.Linear'>`.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from gradtrace.lazy_names import homes, words

# Classes that share a module here but not in PyTorch; `gradtrace.optim` adds its own.
MOVED = homes("nn.modules", {
    "activation": "MultiheadAttention", "channelshuffle": "ChannelShuffle", "container": "ParameterDict ParameterList",
    "distance": "CosineSimilarity PairwiseDistance", "flatten": "Flatten Unflatten", "fold": "Fold Unfold",
    "pixelshuffle": "PixelShuffle PixelUnshuffle", "upsampling": "Upsample UpsamplingBilinear2d "
                                                                 "UpsamplingNearest2d",
})  # fmt: skip

# Base classes whose constructor their subclasses share in PyTorch too; any other layer has a
# constructor of its own.
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


class OwnConstructor:
    """A base class whose subclasses here have constructors with the names that PyTorch's messages
    show.
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if not cls.__module__.startswith("gradtrace."):
            return
        shared: Any = cls.__init__
        base = shared.__qualname__.partition(".")[0]
        if base == cls.__name__ or base in SHARED:
            return
        own = FunctionType(
            shared.__code__, shared.__globals__, "__init__", shared.__defaults__, shared.__closure__
        )
        own.__kwdefaults__ = shared.__kwdefaults__
        own.__annotations__ = shared.__annotations__
        own.__qualname__ = f"{cls.__name__}.__init__"
        cls.__init__ = own  # type: ignore[method-assign]
