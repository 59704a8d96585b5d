"""The operators that must be there: tier 1 is what any user needs, tier 2 what models and libraries use."""

TIER_ONE = [
    "abs", "add", "sub", "mul", "div", "neg", "pow", "exp", "log", "log1p", "sqrt", "square", "sin", "cos",
    "tanh", "sigmoid", "clamp", "maximum", "minimum", "where", "sum", "mean", "var", "std", "prod", "max", "min",
    "amax", "softmax", "log_softmax", "logsumexp", "cumsum", "norm", "matmul", "mm", "bmm", "dot", "einsum",
    "reshape", "view", "permute", "transpose", "T", "squeeze", "unsqueeze", "expand", "flatten", "cat", "stack",
    "split", "repeat", "clone", "gather", "index_select", "__getitem__", "masked_fill", "tril", "to", "float",
    "__radd__", "__rsub__", "__rmul__", "__rdiv__", "nn.functional.relu", "nn.functional.gelu",
    "nn.functional.linear", "nn.functional.conv2d", "nn.functional.max_pool2d", "nn.functional.batch_norm",
    "nn.functional.layer_norm", "nn.functional.embedding", "nn.functional.dropout", "nn.functional.cross_entropy",
    "nn.functional.mse_loss", "nn.functional.binary_cross_entropy_with_logits", "nn.functional.pad",
]
TIER_ONE_WITHOUT_DERIVATIVE = [
    "argmax", "long", "item", "zeros", "ones", "full", "arange", "zeros_like", "eq", "ne", "lt", "le", "gt", "ge",
]
TIER_TWO = [
    "rsqrt", "reciprocal", "sign", "mv", "mT", "unbind", "chunk", "scatter_add", "triu", "topk", "sort",
    "__rpow__", "nn.functional.leaky_relu", "nn.functional.softplus", "nn.functional.avg_pool2d",
    "nn.functional.silu", "t", "contiguous", "addmm", "nn.functional.nll_loss", "double", "true_divide", "rsub",
    "expm1", "log2", "log10", "tan", "asin", "acos", "atan", "sinh", "cosh", "atan2", "erf", "erfc", "floor",
    "ceil", "round", "trunc", "remainder", "lerp", "logaddexp", "nan_to_num", "amin", "median", "cumprod",
    "outer", "tensordot", "broadcast_to", "view_as", "unflatten", "movedim", "tile", "roll", "flip", "diag",
    "diagonal", "diag_embed", "trace", "select", "narrow", "repeat_interleave", "meshgrid", "hstack", "vstack",
    "unfold", "fill", "zero_", "masked_select", "take_along_dim", "scatter", "index_add", "index_put",
    "scatter_reduce", "__rmatmul__", "nn.functional.relu6", "nn.functional.elu", "nn.functional.selu",
    "nn.functional.mish", "nn.functional.hardswish", "nn.functional.logsigmoid", "nn.functional.prelu",
    "nn.functional.normalize", "nn.functional.cosine_similarity", "nn.functional.one_hot", "nn.functional.conv1d",
    "nn.functional.conv_transpose2d", "nn.functional.adaptive_avg_pool2d", "nn.functional.group_norm",
    "nn.functional.rms_norm", "nn.functional.interpolate", "nn.functional.scaled_dot_product_attention",
    "nn.functional.binary_cross_entropy", "nn.functional.l1_loss", "nn.functional.smooth_l1_loss",
    "nn.functional.huber_loss", "nn.functional.kl_div", "linalg.norm", "linalg.vector_norm", "linalg.inv",
    "linalg.solve", "linalg.det", "linalg.slogdet", "linalg.cholesky", "logdet", "linalg.solve_triangular",
    "linalg.eigh", "linalg.svd",
]
TIER_TWO_WITHOUT_DERIVATIVE = [
    "bool", "isnan", "any", "all", "ones_like", "floor_divide", "argmin", "argsort", "nonzero", "isfinite",
    "isinf", "allclose", "logical_and", "logical_or", "logical_not", "full_like", "eye", "linspace", "int",
    "cdist",
]
