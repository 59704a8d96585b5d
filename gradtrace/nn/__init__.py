"""torch.nn's names: layers, containers, parameters, and the modules `functional`, `init`, `utils`.

A family of layers loads when one of its names is first used; `FAMILIES` says where each name lives.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

FAMILIES: dict[str, tuple[str, ...]] = {
    "parameter": ("Buffer", "Parameter"),
    "modules.module": ("Module",),
    "modules.container": ("ModuleDict", "ModuleList", "Sequential"),
    "modules.parameters": ("ParameterDict", "ParameterList"),
    "modules.linear": ("Bilinear", "Identity", "Linear"),
    "modules.activation": (
        "CELU",
        "ELU",
        "GELU",
        "GLU",
        "Hardshrink",
        "Hardsigmoid",
        "Hardswish",
        "Hardtanh",
        "LeakyReLU",
        "LogSigmoid",
        "LogSoftmax",
        "Mish",
        "PReLU",
        "RReLU",
        "ReLU",
        "ReLU6",
        "SELU",
        "SiLU",
        "Sigmoid",
        "Softmax",
        "Softmax2d",
        "Softmin",
        "Softplus",
        "Softshrink",
        "Softsign",
        "Tanh",
        "Tanhshrink",
        "Threshold",
    ),
    "modules.loss": (
        "BCELoss",
        "BCEWithLogitsLoss",
        "CTCLoss",
        "CosineEmbeddingLoss",
        "CrossEntropyLoss",
        "GaussianNLLLoss",
        "HingeEmbeddingLoss",
        "HuberLoss",
        "KLDivLoss",
        "L1Loss",
        "MSELoss",
        "MarginRankingLoss",
        "MultiLabelMarginLoss",
        "MultiLabelSoftMarginLoss",
        "MultiMarginLoss",
        "NLLLoss",
        "PoissonNLLLoss",
        "SmoothL1Loss",
        "SoftMarginLoss",
        "TripletMarginLoss",
        "TripletMarginWithDistanceLoss",
    ),
    "modules.conv": ("Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"),
    "modules.batchnorm": ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d"),
    "modules.instancenorm": ("InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"),
    "modules.normalization": ("GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"),
    "modules.dropout": ("AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"),
    "modules.shape": (
        "ChannelShuffle",
        "CosineSimilarity",
        "Flatten",
        "Fold",
        "PairwiseDistance",
        "PixelShuffle",
        "PixelUnshuffle",
        "Unflatten",
        "Unfold",
        "Upsample",
        "UpsamplingBilinear2d",
        "UpsamplingNearest2d",
    ),
    "modules.padding": (
        "CircularPad1d",
        "CircularPad2d",
        "CircularPad3d",
        "ConstantPad1d",
        "ConstantPad2d",
        "ConstantPad3d",
        "ReflectionPad1d",
        "ReflectionPad2d",
        "ReflectionPad3d",
        "ReplicationPad1d",
        "ReplicationPad2d",
        "ReplicationPad3d",
        "ZeroPad1d",
        "ZeroPad2d",
        "ZeroPad3d",
    ),
    "modules.pooling": (
        "AdaptiveAvgPool1d",
        "AdaptiveAvgPool2d",
        "AdaptiveAvgPool3d",
        "AdaptiveMaxPool1d",
        "AdaptiveMaxPool2d",
        "AdaptiveMaxPool3d",
        "AvgPool1d",
        "AvgPool2d",
        "AvgPool3d",
        "LPPool1d",
        "LPPool2d",
        "MaxPool1d",
        "MaxPool2d",
        "MaxPool3d",
        "MaxUnpool1d",
        "MaxUnpool2d",
        "MaxUnpool3d",
    ),
    "modules.sparse": ("Embedding", "EmbeddingBag"),
    "modules.rnn": ("GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell"),
    "modules.attention": ("MultiheadAttention",),
    "modules.transformer": (
        "Transformer",
        "TransformerDecoder",
        "TransformerDecoderLayer",
        "TransformerEncoder",
        "TransformerEncoderLayer",
    ),
}
MODULES = ("functional", "init", "modules", "parameter", "utils")
home = {name: family for family, names in FAMILIES.items() for name in names}

__all__ = [*home, *MODULES]


def __getattr__(name: str) -> Any:
    if name in MODULES:
        return import_module(f"gradtrace.nn.{name}")
    family = home.get(name)
    if family is None:
        raise AttributeError(f"module 'torch.nn' has no attribute '{name}'")
    value = getattr(import_module(f"gradtrace.nn.{family}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
