"""Names of torch that programs get in another form, such as queries of the machine: the only device is the CPU."""

from __future__ import annotations

from gradtrace.annotations import Any, Callable
from gradtrace.lang import numpy_numbers
from gradtrace.lang.arrays import Array, raw
from gradtrace.lang.known_classes import class_at
from gradtrace.lang.words import Names, words
from gradtrace.ops.create.factories import check_device

VERSION = "2.13.0+gradtrace"  # the PyTorch version whose behaviour gradtrace reproduces, and who does


def return_false(*args: Any, **kwargs: Any) -> bool:
    return False


def return_true(*args: Any, **kwargs: Any) -> bool:
    return True


def return_none(*args: Any, **kwargs: Any) -> None:
    return None


def return_zero(*args: Any, **kwargs: Any) -> int:
    return 0


def return_one(*args: Any, **kwargs: Any) -> int:
    return 1


def return_default(*args: Any, **kwargs: Any) -> str:
    return "highest"  # of torch.get_float32_matmul_precision


def no_device(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("Torch not compiled with CUDA enabled")


def default_device(device: Any) -> None:
    """Implement torch.set_default_device, which accepts only the CPU."""
    check_device(device)


OTHER_DEVICE = {
    "device_count": return_zero,
    "empty_cache": return_none,
    "manual_seed": return_none,
    "manual_seed_all": return_none,
    "synchronize": return_none,
}
MODULES: dict[str, Names] = {
    "torch": {
        "__version__": VERSION,
        "are_deterministic_algorithms_enabled": return_false,
        "is_autocast_enabled": return_false,
        "is_complex": return_false,
        "get_float32_matmul_precision": return_default,
        "get_num_interop_threads": return_one,
        "get_num_threads": return_one,
        "set_default_device": default_device,
        "set_float32_matmul_precision": return_none,
        "set_flush_denormal": return_false,
        "set_num_interop_threads": return_none,
        "set_num_threads": return_none,
        "use_deterministic_algorithms": return_none,
    },
    "torch.version": {"__version__": VERSION, "cuda": None, "debug": False, "git_version": "", "hip": None},
    "torch.accelerator": {
        "is_available": return_false,
        "device_count": return_zero,
        "current_accelerator": return_none,
    },
    "torch.backends": {},
    "torch.backends.cuda": {"is_built": return_false},
    "torch.backends.cuda.matmul": {"allow_tf32": False},
    "torch.backends.cudnn": {
        "allow_tf32": True,
        "benchmark": False,
        "deterministic": False,
        "enabled": True,
        "is_available": return_false,
        "version": return_none,
    },
    "torch.backends.mkl": {"is_available": return_false},
    "torch.backends.mkldnn": {"enabled": True, "is_available": return_false},
    "torch.backends.mps": {"is_available": return_false, "is_built": return_false},
    "torch.backends.openmp": {"is_available": return_false},
    "torch.distributed": {"is_available": return_false},
    "torch.cpu": {"is_available": return_true, "device_count": return_one, "synchronize": return_none},
    "torch.mps": {"is_available": return_false, **OTHER_DEVICE},
    "torch.mtia": {"is_available": return_false, **OTHER_DEVICE},
    "torch.xpu": {"is_available": return_false, **OTHER_DEVICE},
    "torch.cuda": {
        "is_available": return_false,
        "current_device": no_device,
        "device_count": return_zero,
        "empty_cache": return_none,
        "get_device_name": no_device,
        "is_initialized": return_false,
        "max_memory_allocated": return_zero,
        "memory_allocated": return_zero,
        "memory_reserved": return_zero,
        "reset_peak_memory_stats": return_none,
        "set_device": no_device,
        "manual_seed": return_none,
        "manual_seed_all": return_none,
        "synchronize": return_none,
    },
}
# Attributes of modules that a program may set. They change nothing here.
FLAGS = {
    "torch.backends.cuda.matmul": frozenset({"allow_tf32"}),
    "torch.backends.cudnn": frozenset({"allow_tf32", "benchmark", "deterministic", "enabled"}),
    "torch.backends.mkldnn": frozenset({"enabled"}),
}
FLAG_TYPES = (bool, int, str, type(None))
# Files of torch.nn.modules, which scripts import layers from.
LAYER_FILES = words("""activation batchnorm container conv dropout instancenorm lazy linear loss module
    normalization padding pooling rnn sparse transformer utils""")
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
COMPLEX_NAMES = words("""angle cdouble cfloat chalf complex complex128 complex32 complex64 conj fft imag istft polar
    stft view_as_complex view_as_real""")
SPARSE = "gradtrace has no sparse tensors; use dense ones"
COMPILED = "programs run as they are written; remove what is compiled or exported"
REFUSED = {
    **{("torch", name): COMPLEX for name in COMPLEX_NAMES},
    **{
        ("torch", name): SPARSE for name in words("sparse sparse_coo_tensor sparse_csr_tensor sparse_compressed_tensor")
    },
    **{("torch", name): COMPILED for name in words("ao export fx onnx quantization")},
    ("torch", "bfloat16"): "gradtrace has no bfloat16; use float16 or float32",
    ("torch", "hub"): "programs load nothing from the network; build the model in the script",
    ("torch", "multiprocessing"): "a program is one process",
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


def adapt(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a torch function that creates tensors from data, so that it accepts Arrays."""
    if name not in FROM_ARRAYS:
        return function

    def call(data: Any, *args: Any, **kwargs: Any) -> Any:
        return function(unwrapped(data), *args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__wrapped__ = function  # type: ignore[attr-defined]
    return call
