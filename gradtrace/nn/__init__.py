"""torch.nn: layers, containers, parameters, and the modules `functional`, `init`, `utils`.

A family of layers is imported when one of its names is first used; `FAMILIES` maps names to
families.
"""

from __future__ import annotations

from gradtrace.lazy_names import attach, homes

FAMILIES = {
    "parameter": "Buffer Parameter UninitializedParameter",
    "modules.module": "Module",
    "modules.container": "DataParallel ModuleDict ModuleList Sequential",
    "modules.parameters": "ParameterDict ParameterList",
    "modules.linear": "Bilinear Identity Linear",
    "modules.lazy": "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d "
    "LazyConv3d LazyLinear",
    "modules.activation": """
        CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax Mish PReLU RReLU
        ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmax2d Softmin Softplus Softshrink Softsign Tanh Tanhshrink
        Threshold
    """,
    "modules.loss": """
        BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss GaussianNLLLoss HingeEmbeddingLoss
        HuberLoss KLDivLoss L1Loss MSELoss MarginRankingLoss MultiLabelMarginLoss MultiLabelSoftMarginLoss
        MultiMarginLoss NLLLoss PoissonNLLLoss SmoothL1Loss SoftMarginLoss TripletMarginLoss
        TripletMarginWithDistanceLoss
    """,
    "modules.conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d",
    "modules.batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm",
    "modules.instancenorm": "InstanceNorm1d InstanceNorm2d InstanceNorm3d",
    "modules.normalization": "GroupNorm LayerNorm LocalResponseNorm RMSNorm",
    "modules.dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
    "modules.shape": """
        ChannelShuffle CosineSimilarity Flatten Fold PairwiseDistance PixelShuffle PixelUnshuffle Unflatten Unfold
        Upsample UpsamplingBilinear2d UpsamplingNearest2d
    """,
    "modules.padding": """
        CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d
        ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad1d ZeroPad2d
        ZeroPad3d
    """,
    "modules.pooling": """
        AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d
        AvgPool1d AvgPool2d AvgPool3d FractionalMaxPool2d FractionalMaxPool3d LPPool1d LPPool2d MaxPool1d MaxPool2d
        MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d
    """,
    "modules.sparse": "Embedding EmbeddingBag",
    "modules.rnn": "GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell",
    "modules.attention": "MultiheadAttention",
    "modules.transformer": """
        Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer
    """,
}
MODULES = ("functional", "init", "modules", "parameter", "utils")
HOMES = homes(__name__, FAMILIES)

__all__ = [*HOMES, *MODULES]

__getattr__, __dir__ = attach(
    __name__, HOMES, modules={name: f"{__name__}.{name}" for name in MODULES}, shown_as="torch.nn"
)
