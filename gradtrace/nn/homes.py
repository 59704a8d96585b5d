"""The PyTorch modules that classes show in their repr: `<class 'torch.nn.modules.linear.Linear'>`."""

from __future__ import annotations

from gradtrace.lazy_names import homes

# Classes that share a module here but not in PyTorch; `gradtrace.optim` adds its own.
MOVED = homes("nn.modules", {
    "activation": "MultiheadAttention", "channelshuffle": "ChannelShuffle", "container": "ParameterDict ParameterList",
    "distance": "CosineSimilarity PairwiseDistance", "flatten": "Flatten Unflatten", "fold": "Fold Unfold",
    "pixelshuffle": "PixelShuffle PixelUnshuffle", "upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
})  # fmt: skip


def home(cls: type) -> str:
    """Return the full name of a class, with PyTorch's module for a class of this package."""
    package, _, rest = cls.__module__.partition(".")
    if package != "gradtrace":
        return f"{cls.__module__}.{cls.__qualname__}"
    if rest.startswith("optim.lr_scheduler"):
        rest = "optim.lr_scheduler"
    return f"torch.{MOVED.get(cls.__qualname__, rest)}.{cls.__qualname__}"


class Homed(type):
    """A metaclass that gives a class the repr of PyTorch's class."""

    def __repr__(cls) -> str:
        return f"<class '{home(cls)}'>"
