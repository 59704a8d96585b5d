"""The PyTorch modules that classes show in their repr: `<class 'torch.nn.modules.linear.Linear'>`."""

from __future__ import annotations

# Classes that share a module here but not in PyTorch.
MOVED = {
    "ChannelShuffle": "nn.modules.channelshuffle",
    "CosineSimilarity": "nn.modules.distance",
    "PairwiseDistance": "nn.modules.distance",
    "Flatten": "nn.modules.flatten",
    "Unflatten": "nn.modules.flatten",
    "Fold": "nn.modules.fold",
    "Unfold": "nn.modules.fold",
    "MultiheadAttention": "nn.modules.activation",
    "ParameterDict": "nn.modules.container",
    "ParameterList": "nn.modules.container",
    "PixelShuffle": "nn.modules.pixelshuffle",
    "PixelUnshuffle": "nn.modules.pixelshuffle",
    "Upsample": "nn.modules.upsampling",
    "UpsamplingBilinear2d": "nn.modules.upsampling",
    "UpsamplingNearest2d": "nn.modules.upsampling",
    "ASGD": "optim.asgd",
    "Rprop": "optim.rprop",
    "Adadelta": "optim.adadelta",
    "Adagrad": "optim.adagrad",
    "RMSprop": "optim.rmsprop",
    "AdamW": "optim.adamw",
    "Adamax": "optim.adamax",
    "NAdam": "optim.nadam",
    "RAdam": "optim.radam",
}


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
