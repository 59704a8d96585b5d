"""The modules that PyTorch's classes name as theirs, which reprs, pickles and messages show."""

from __future__ import annotations

from gradtrace.lazy_names import words
from gradtrace.nn.homes import MOVED

# Where a class is in PyTorch, unless its module here has the same name.
MODULES_OF_CLASSES = {
    "torch": """BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor ShortTensor
        Size Tensor device dtype finfo iinfo layout memory_format""",
    "torch._C": "Generator",
    "torch.amp.autocast_mode": "autocast",
    "torch.autograd.anomaly_mode": "detect_anomaly set_detect_anomaly",
    "torch.autograd.function": "BackwardCFunction Function FunctionCtx FunctionMeta",
    "torch.autograd.grad_mode": "enable_grad inference_mode no_grad set_grad_enabled",
    "torch.autograd.graph": "GradientEdge",
    "torch.autograd.variable": "Variable",
    "torch.distributions.bernoulli": "Bernoulli",
    "torch.distributions.beta": "Beta",
    "torch.distributions.binomial": "Binomial",
    "torch.distributions.dirichlet": "Dirichlet",
    "torch.distributions.exp_family": "ExponentialFamily",
    "torch.distributions.exponential": "Exponential",
    "torch.distributions.independent": "Independent",
    "torch.distributions.laplace": "Laplace",
    "torch.distributions.log_normal": "LogNormal",
    "torch.distributions.multivariate_normal": "MultivariateNormal",
    "torch.distributions.one_hot_categorical": "OneHotCategorical",
    "torch.distributions.poisson": "Poisson",
    "torch.distributions.transformed_distribution": "TransformedDistribution",
    "torch.distributions.uniform": "Uniform",
    "torch.nn.modules.batchnorm": "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d",
    "torch.nn.modules.conv": "LazyConv1d LazyConv2d LazyConv3d",
    "torch.nn.modules.linear": "LazyLinear",
    "torch.nn.parallel.data_parallel": "DataParallel",
    "torch.nn.parallel.distributed": "DistributedDataParallel",
    "torch.nn.utils.rnn": "PackedSequence",
    "torch.utils._pytree": "TreeSpec",
    "torch.utils.benchmark.utils.common": "Measurement",
    "torch.utils.benchmark.utils.timer": "Timer",
    "torch.utils.data.dataloader": "DataLoader",
    "torch.utils.data.dataset": """ChainDataset ConcatDataset Dataset IterableDataset StackDataset Subset
        TensorDataset""",
    "torch.utils.data.distributed": "DistributedSampler",
    "torch.utils.data.sampler": """BatchSampler RandomSampler Sampler SequentialSampler SubsetRandomSampler
        WeightedRandomSampler""",
    "torch.utils.hooks": "RemovableHandle",
}
MODULE_OF_CLASS = {
    name: module for module, names in MODULES_OF_CLASSES.items() for name in words(names)
}


def torch_home(kind: type) -> str:
    """Return the module that PyTorch has a class of the library in."""
    module = "torch" + kind.__module__.removeprefix("gradtrace")
    if module == "torch.amp.cuda":
        return f"torch.cuda.amp.{'autocast_mode' if kind.__name__ == 'autocast' else 'grad_scaler'}"
    if module.startswith("torch.optim.lr_scheduler."):
        return "torch.optim.lr_scheduler"
    if kind.__name__ in MODULE_OF_CLASS:
        return MODULE_OF_CLASS[kind.__name__]
    return f"torch.{MOVED[kind.__name__]}" if kind.__name__ in MOVED else module
