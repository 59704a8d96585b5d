"""Where PyTorch's classes live, for their text: `<class 'torch.nn.modules.linear.Linear'>`."""

from __future__ import annotations

# Classes of one file here that have files of their own there.
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
    """The full name of a class; of the package's own, PyTorch's."""
    package, _, rest = cls.__module__.partition(".")
    if package != "gradtrace":
        return f"{cls.__module__}.{cls.__qualname__}"
    if rest.startswith("optim.lr_scheduler"):
        rest = "optim.lr_scheduler"
    return f"torch.{MOVED.get(cls.__qualname__, rest)}.{cls.__qualname__}"


class Homed(type):
    """The type of classes that print as PyTorch's do."""

    def __repr__(cls) -> str:
        return f"<class '{home(cls)}'>"
