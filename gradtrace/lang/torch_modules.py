"""Names of torch that programs get in another form, such as queries of the machine: the only device is the CPU."""

from __future__ import annotations

from gradtrace.annotations import Any, AnyFunction
from gradtrace.engine.data.state import using
from gradtrace.lang import numpy_numbers
from gradtrace.lang.arrays import Array, raw
from gradtrace.lang.known_classes import class_at
from gradtrace.lang.values import named
from gradtrace.lang.words import Names, words

VERSION = "2.13.0+gradtrace"  # the PyTorch version whose behaviour gradtrace reproduces, and who does


def constantly(name: str, value: Any) -> AnyFunction:
    """Return a function of this name that returns a value, whatever its arguments are."""
    return named(lambda *args, **kwargs: value, name)


return_false, return_true = constantly("return_false", False), constantly("return_true", True)
return_zero, return_one = constantly("return_zero", 0), constantly("return_one", 1)
return_none = constantly("return_none", None)
return_context = constantly("return_context", using())  # a context that changes nothing
return_default = constantly("return_default", "highest")  # of torch.get_float32_matmul_precision


def no_device(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("Torch not compiled with CUDA enabled")


def answers(function: AnyFunction, names: str) -> Names:
    return dict.fromkeys(names.split(), function)


UNAVAILABLE = {"is_available": return_false}
OTHER_DEVICE = {
    **UNAVAILABLE,
    "device_count": return_zero,
    **answers(return_none, "empty_cache manual_seed manual_seed_all synchronize"),
}
MODULES: dict[str, Names] = {
    "torch": {
        "__version__": VERSION,
        **answers(return_false, "are_deterministic_algorithms_enabled is_autocast_enabled is_complex is_conj is_neg"),
        **answers(return_one, "get_num_interop_threads get_num_threads"),
        **answers(return_none, "set_float32_matmul_precision set_num_interop_threads set_num_threads"),
        "get_float32_matmul_precision": return_default,
        "set_flush_denormal": return_false,
        "use_deterministic_algorithms": return_none,
    },
    "torch.version": {"__version__": VERSION, "cuda": None, "debug": False, "git_version": "", "hip": None},
    "torch.accelerator": {**UNAVAILABLE, "device_count": return_zero, "current_accelerator": return_none},
    "torch.backends": {},
    "torch.backends.cuda": {"is_built": return_false},
    "torch.backends.cuda.matmul": {"allow_tf32": False},
    "torch.backends.cudnn": {
        **UNAVAILABLE,
        "allow_tf32": True,
        "benchmark": False,
        "deterministic": False,
        "enabled": True,
        "flags": return_context,
        "version": return_none,
    },
    "torch.backends.mkldnn": {**UNAVAILABLE, "enabled": True},
    "torch.backends.mps": {**UNAVAILABLE, "is_built": return_false},
    **dict.fromkeys(("torch.backends.mkl", "torch.backends.openmp", "torch.distributed"), UNAVAILABLE),
    "torch.multiprocessing": {},
    "torch.cpu": {"is_available": return_true, "device_count": return_one, "synchronize": return_none},
    **dict.fromkeys(("torch.mps", "torch.mtia", "torch.xpu"), OTHER_DEVICE),
    "torch.cuda": {
        **OTHER_DEVICE,
        **answers(no_device, "current_device get_device_name set_device"),
        **answers(return_zero, "max_memory_allocated memory_allocated memory_reserved"),
        "is_initialized": return_false,
        "reset_peak_memory_stats": return_none,
    },
}
# Attributes of modules that a program may set. They change nothing here.
FLAGS = {
    "torch.backends.cuda.matmul": frozenset({"allow_tf32"}),
    "torch.backends.cudnn": frozenset({"allow_tf32", "benchmark", "deterministic", "enabled"}),
    "torch.backends.mkldnn": frozenset({"enabled"}),
    "torch.cuda": frozenset({"cudnn_enabled"}),  # a name of few-shot scripts, which means nothing in PyTorch either
}
FLAG_TYPES = (bool, int, str, type(None))
# Files of torch.nn.modules, which scripts import layers from.
LAYER_FILES = words("""activation batchnorm container conv dropout instancenorm lazy linear loss module
    normalization padding pooling rnn sparse transformer utils""")
# Files of torch.optim, which scripts import optimizers from.
OPTIMIZER_FILES = words("adadelta adagrad adam adamax adamw asgd lbfgs nadam radam rmsprop rprop sgd")
# Files of torch.distributions, which scripts import names from.
DISTRIBUTION_FILES = words("""bernoulli beta binomial categorical cauchy chi2 dirichlet distribution exp_family
    exponential gamma geometric gumbel half_cauchy half_normal independent laplace log_normal logistic_normal
    mixture_same_family multinomial multivariate_normal negative_binomial normal one_hot_categorical pareto poisson
    relaxed_bernoulli relaxed_categorical studentT transformed_distribution uniform weibull""")
FUNCTIONAL = words("""atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod
    cdist chain_matmul einsum meshgrid norm split tensordot unique unique_consecutive""")
UNDERSCORED = words("""__version__ _BatchNorm _ConvNd _LRScheduler _Loss _NormBase _WeightedLoss _calculate_correct_fan
    _calculate_fan_in_and_fan_out _ntuple _pair _quadruple _single _triple""")
# Refused names of torch, with the alternative.
TENSORBOARD = "use torch.utils.tensorboard's SummaryWriter with --allow-write DIR, or graph --tensorboard LOGDIR"
COMPLEX = "gradtrace has no complex numbers; compute with the real and imaginary parts, as two tensors"
COMPLEX_NAMES = words("""angle cdouble cfloat chalf complex complex128 complex32 complex64 fft imag istft polar
    stft view_as_complex view_as_real""")
SPARSE = "gradtrace has sparse tensors in coordinates only; use sparse_coo_tensor"
COMPILED = "programs run as they are written; remove what is compiled or exported"
SPARSE_NAMES = words("sparse_csr_tensor sparse_compressed_tensor")
COMPILED_NAMES = words("ao export fx onnx quantization")
REFUSED = {
    **{("torch", name): COMPLEX for name in COMPLEX_NAMES},
    **{("torch", name): SPARSE for name in SPARSE_NAMES},
    **{("torch", name): COMPILED for name in COMPILED_NAMES},
    ("torch", "bfloat16"): "gradtrace has no bfloat16; use float16 or float32",
    ("torch", "hub"): "programs load nothing from the network; build the model in the script",
    ("torch.multiprocessing", "spawn"): "a program is one process",
    ("torch", "profiler"): "measure with torch.utils.benchmark or time.perf_counter",
}
# Packages that scripts often import, which a program cannot have.
OTHER_PACKAGES = words("""cv2 datasets gym gymnasium h5py imageio networkx pandas PIL requests scipy skimage sklearn
    tensorflow_datasets torchaudio torchtext torchvision transformers urllib visdom wandb""")
DATA = "programs use no other packages and load no files: make the data in the script, or give it as --x @FILE.npy"
HOLDING = frozenset({Array, list, tuple, *numpy_numbers.KINDS})  # what nested data has where a conversion is needed
FROM_ARRAYS = ("as_tensor", "asarray", "from_numpy", "tensor")


def unwrapped(data: Any) -> Any:
    """Return a value with each Array, also in nested lists, replaced by the ndarray or number in it."""
    kind = type(data)
    if kind is Array:
        return raw(data)
    if kind in numpy_numbers.KINDS:
        return numpy_numbers.real(data)
    if kind is class_at("collections:deque"):
        return unwrapped(list(data))
    if (kind is list or kind is tuple) and any(type(one) in HOLDING for one in data):
        return kind(map(unwrapped, data))
    return data


def adapt(name: str, function: AnyFunction) -> AnyFunction:
    """Wrap a torch function that creates tensors from data, so that it accepts Arrays."""
    if name not in FROM_ARRAYS:
        return function

    def call(data: Any, *args: Any, **kwargs: Any) -> Any:
        return function(unwrapped(data), *args, **kwargs)

    call.__wrapped__ = function  # type: ignore[attr-defined]
    return named(call, name)
