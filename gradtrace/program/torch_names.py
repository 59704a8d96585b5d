"""The modules of torch, and the names in them that gradtrace's library does not have under the same
name.

LIBRARY maps a module of PyTorch to gradtrace's module, of which only public names are available:
those in `__all__`, those that its `__getattr__` returns, and those that are defined in it. ANSWERS
has the queries of the machine, whose only device is the CPU.
"""

from __future__ import annotations

from contextlib import nullcontext
from enum import Enum
from importlib import import_module
from types import ModuleType

from gradtrace import ops
from gradtrace.annotations import Any, AnyFunction
from gradtrace.engine.data.describe import layout
from gradtrace.engine.data.dtypes import bfloat16
from gradtrace.lazy_names import words
from gradtrace.nn.homes import MOVED

VERSION = "2.13.0+gradtrace"  # the PyTorch version whose behaviour gradtrace reproduces
ABSENT = object()

# The modules of torch that have the same name in gradtrace.
SAME_NAMES = words("""
    amp autograd autograd.forward_ad autograd.functional autograd.graph distributions distributions.constraints
    distributions.kl distributions.transforms func linalg nn nn.functional nn.init nn.modules nn.parameter nn.utils
    nn.utils.fusion nn.utils.parametrizations nn.utils.parametrize nn.utils.rnn optim optim.lr_scheduler random signal
    signal.windows special testing utils utils.benchmark utils.checkpoint utils.data
""")
LAYER_FILES = words("""
    activation batchnorm container conv dropout instancenorm lazy linear loss module normalization padding pooling rnn
    sparse transformer utils
""")
OPTIMIZER_FILES = words(
    "adadelta adagrad adam adamax adamw asgd lbfgs nadam radam rmsprop rprop sgd"
)
DISTRIBUTION_FILES = words("""
    bernoulli beta binomial categorical dirichlet distribution exp_family exponential gamma independent laplace
    log_normal multivariate_normal normal one_hot_categorical poisson transformed_distribution uniform
""")
DATA_FILES = words("_utils _utils.collate dataloader dataset distributed sampler")
LIBRARY = {
    "torch": "gradtrace",
    "torch.functional": "gradtrace",
    **{f"torch.{name}": f"gradtrace.{name}" for name in SAME_NAMES},
    **{
        f"torch.{name}": "gradtrace.nn" for name in MOVED.values() if name.startswith("nn.modules.")
    },
    **{f"torch.nn.modules.{name}": f"gradtrace.nn.modules.{name}" for name in LAYER_FILES},
    "torch.nn.parallel.data_parallel": "gradtrace.nn.modules.container",
    "torch.nn.parallel.distributed": "gradtrace.nn.modules.container",
    "torch.autograd.anomaly_mode": "gradtrace.engine.data.modes",
    **{f"torch.distributions.{name}": "gradtrace.distributions" for name in DISTRIBUTION_FILES},
    **{f"torch.optim.{name}": "gradtrace.optim" for name in OPTIMIZER_FILES},
    **{f"torch.utils.data.{name}": "gradtrace.utils.data" for name in DATA_FILES},
    **{
        f"torch.nn.utils.{name}": "gradtrace.nn.utils"
        for name in ("clip_grad", "convert_parameters")
    },
    **{f"torch.amp.{name}": "gradtrace.amp" for name in ("autocast_mode", "grad_scaler")},
    **{
        f"torch.cuda.amp{name}": "gradtrace.amp.cuda"
        for name in ("", ".autocast_mode", ".grad_scaler")
    },
    "torch.distributions.utils": "gradtrace.distributions.distribution",
    "torch.autograd.function": "gradtrace.engine.calls.function",
    "torch.autograd.grad_mode": "gradtrace.engine.data.modes",
    "torch.autograd.gradcheck": "gradtrace.func.gradcheck",
    "torch.autograd.variable": "gradtrace.autograd",
    "torch.nn.utils.stateless": "gradtrace.func.stateless",
    "torch.nn.parallel": "gradtrace.nn.modules.container",
    "torch.optim.optimizer": "gradtrace.optim.optimizer",
    "torch.profiler": "gradtrace.utils.profiler",
    "torch.autograd.profiler": "gradtrace.utils.profiler",
    "torch.serialization": "gradtrace.utils.serialization",
    "torch.sparse": "gradtrace.ops.linalg.sparse",
    "torch.multiprocessing": "multiprocessing",
    "torch.utils._pytree": "gradtrace.utils.nested",
    "torch.utils.hooks": "gradtrace.engine.data.node",
    "torch.utils.tensorboard": "gradtrace.views.summary_writer",
    "torch.utils.tensorboard.writer": "gradtrace.views.summary_writer",
    "tensorboard": "gradtrace.views.tensorboard_notebook",
    "tensorboard.notebook": "gradtrace.views.tensorboard_notebook",
    "functorch": "gradtrace.func.functorch",
    "tensorflow": "gradtrace.static.tf1",
    "tensorflow.compat": "gradtrace.static.tf1",
    "tensorflow.compat.v1": "gradtrace.static.tf1",
}

# Modules of which only these names are available.
FUNCTIONAL = words("""
    atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist chain_matmul
    einsum meshgrid norm split tensordot unique unique_consecutive
""")
ONLY = {
    "torch.autograd.grad_mode": words("no_grad enable_grad set_grad_enabled inference_mode"),
    "torch.autograd.function": words("BackwardCFunction Function FunctionCtx once_differentiable"),
    "torch.autograd.gradcheck": words("GradcheckError gradcheck gradgradcheck"),
    "torch.autograd.variable": words("Variable"),
    "torch.autograd.anomaly_mode": words("detect_anomaly set_detect_anomaly"),
    "torch.functional": FUNCTIONAL,
    "torch.nn.parallel.data_parallel": words("DataParallel"),
    "torch.nn.parallel.distributed": words("DistributedDataParallel"),
    "torch.optim.optimizer": words("Optimizer required"),
    "torch.sparse": words("FloatTensor mm sum"),
    "torch.nn.parallel": words("DataParallel DistributedDataParallel"),
    "torch.nn.utils.stateless": words("functional_call"),
    "torch.utils.hooks": words("RemovableHandle"),
    "tensorboard": (),
    "tensorflow.compat": (),
}


# ---- queries of the machine


def constantly(name: str, value: Any) -> AnyFunction:
    """Return a function of this name that returns a value for any arguments."""

    def answer(*args: Any, **kwargs: Any) -> Any:
        return value

    answer.__name__ = answer.__qualname__ = name
    return answer


def without_device(*args: Any, **kwargs: Any) -> Any:
    """Raise PyTorch's error for a query of a GPU that is not there."""
    raise AssertionError("Torch not compiled with CUDA enabled")


class OutOfMemoryError(RuntimeError):
    """PyTorch's error of a GPU without free memory, which scripts name in `except` clauses."""


OutOfMemoryError.__module__ = "torch"
TENSOR_TYPES = words("Bool Byte Char Double Float Half Int Long Short")


def without_type(name: str) -> type:
    """Return a class of torch.cuda, whose constructor raises PyTorch's error."""

    def refuse(cls: type, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            f"type torch.cuda.{name} not available. Torch not compiled with CUDA enabled."
        )

    return type(name, (), {"__module__": "torch.cuda", "__new__": refuse})


def without_network(*args: Any, **kwargs: Any) -> Any:
    """Raise the error of a download, which a program may not make."""
    raise OSError("a program has no network; run it in PyTorch with --engine torch")


def without_group(*args: Any, **kwargs: Any) -> Any:
    """Raise PyTorch's error for a query of a group of processes."""
    raise ValueError(
        "Default process group has not been initialized, please make sure to call "
        "init_process_group."
    )


def no_changes(*args: Any, **kwargs: Any) -> Any:
    """Return a context manager that changes nothing."""
    return nullcontext()


def answers(value: Any, names: str) -> dict[str, Any]:
    """Return functions of these names that return a value."""
    return {name: constantly(name, value) for name in words(names)}


class SDPBackend(Enum):
    """The kernels of scaled_dot_product_attention in PyTorch; choosing one has no effect here."""

    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3


UNAVAILABLE = answers(False, "is_available")
OTHER_DEVICE = {
    **UNAVAILABLE,
    **answers(0, "device_count"),
    **answers(None, "empty_cache manual_seed manual_seed_all synchronize"),
}
# Settings that have no effect here: the function that returns the value, the one that sets it, and
# the value at the start of a run.
SETTINGS = (
    ("are_deterministic_algorithms_enabled", "use_deterministic_algorithms", False),
    ("get_deterministic_debug_mode", "set_deterministic_debug_mode", 0),
    ("get_float32_matmul_precision", "set_float32_matmul_precision", "highest"),
    ("get_num_interop_threads", "set_num_interop_threads", 1),
    ("get_num_threads", "set_num_threads", 1),
)
ANSWERS: dict[str, dict[str, Any]] = {
    "torch": {
        "__version__": VERSION,
        "bfloat16": bfloat16,  # scripts name it where they choose a dtype
        "sparse_coo": layout("torch.sparse_coo"),
        "OutOfMemoryError": OutOfMemoryError,
        **answers(False, "is_autocast_enabled is_storage set_flush_denormal"),
        **answers(None, "clear_autocast_cache"),
    },
    "torch.version": {
        "__version__": VERSION,
        "cuda": None,
        "debug": False,
        "git_version": "",
        "hip": None,
    },
    "torch.accelerator": {
        **UNAVAILABLE,
        **answers(0, "device_count"),
        **answers(None, "current_accelerator"),
    },
    "torch.backends": {},
    "torch.backends.cuda": {
        **answers(False, "is_built"),
        **answers(None, "enable_flash_sdp enable_math_sdp enable_mem_efficient_sdp"),
        "sdp_kernel": no_changes,
    },
    "torch.nn.attention": {"SDPBackend": SDPBackend, "sdpa_kernel": no_changes},
    "torch.backends.cuda.matmul": {"allow_tf32": False},
    "torch.backends.cudnn": {
        **UNAVAILABLE,
        "allow_tf32": True,
        "benchmark": False,
        "deterministic": False,
        "enabled": True,
        "flags": no_changes,
        **answers(None, "version"),
    },
    "torch.backends.mkldnn": {**UNAVAILABLE, "enabled": True},
    "torch.backends.mps": {**UNAVAILABLE, **answers(False, "is_built")},
    "torch.backends.mkl": UNAVAILABLE,
    "torch.backends.openmp": UNAVAILABLE,
    "torch.distributed": {
        **UNAVAILABLE,
        **answers(False, "is_initialized"),
        **dict.fromkeys(words("get_rank get_world_size"), without_group),
    },
    "torch.multiprocessing": answers(None, "set_start_method set_sharing_strategy"),
    "torch.cpu": {
        **answers(True, "is_available"),
        **answers(1, "device_count"),
        **answers(None, "synchronize"),
    },
    "torch.hub": dict.fromkeys(
        words("download_url_to_file help list load load_state_dict_from_url"), without_network
    ),
    "torch.utils.model_zoo": {"load_url": without_network},
    "torch.mps": OTHER_DEVICE,
    "torch.mtia": OTHER_DEVICE,
    "torch.xpu": OTHER_DEVICE,
    "torch.cuda": {
        **OTHER_DEVICE,
        **answers(0, "max_memory_allocated max_memory_cached max_memory_reserved"),
        **answers(0, "memory_allocated memory_cached memory_reserved"),
        **answers(False, "is_initialized is_bf16_supported"),
        **answers([], "get_arch_list get_rng_state_all"),
        **answers(
            None,
            "ipc_collect reset_max_memory_allocated reset_peak_memory_stats seed seed_all "
            "set_stream",
        ),
        **dict.fromkeys(
            words(
                "current_device current_stream default_stream get_device_capability get_device_name "
                "get_device_properties get_rng_state init initial_seed mem_get_info "
                "set_rng_state synchronize"
            ),
            without_device,
        ),
        "stream": no_changes,
        "OutOfMemoryError": OutOfMemoryError,
        **{f"{name}Tensor": without_type(f"{name}Tensor") for name in TENSOR_TYPES},
        **{name: without_type(name) for name in ("Event", "Stream")},
    },
}


def settings() -> dict[str, dict[str, Any]]:
    """Return the functions of SETTINGS, which remember the values of one run."""
    values = {getter: value for getter, _, value in SETTINGS}

    def getter_of(name: str) -> AnyFunction:
        return lambda: values[name]

    def setter_of(name: str) -> AnyFunction:
        return lambda value, **options: values.update({name: value})

    getters = {getter: getter_of(getter) for getter, _, _ in SETTINGS}
    return {"torch": {**getters, **{setter: setter_of(getter) for getter, setter, _ in SETTINGS}}}


# ---- lookup


def public_value(module: str, name: str) -> Any:
    """Return the public value of this name in gradtrace's module for a module of torch, or
    ABSENT.
    """
    if name.startswith("__") or name not in ONLY.get(module, (name,)):
        return ABSENT
    library = import_module(LIBRARY[module])
    value: Any = ABSENT
    if (module in ONLY and name in vars(library)) or name in getattr(library, "__all__", ()):
        value = getattr(library, name)
    elif "__getattr__" in vars(library):
        try:
            value = library.__getattr__(name)
        except AttributeError:
            return ABSENT
    elif getattr(getattr(library, name, None), "__module__", None) in (library.__name__, module):
        value = getattr(library, name)
    elif module.startswith("torch.nn.modules.") and name in import_module("gradtrace.nn").__all__:
        value = getattr(import_module("gradtrace.nn"), name)  # a layer of another file here
    if not isinstance(value, ModuleType):
        return value
    # gradtrace.trace is a package, but torch.trace is a function.
    return ops.find(ops.api.functions, name) or ABSENT


def exported_names(module: str) -> list[str]:
    """Return the names that `from module import *` takes from one of LIBRARY."""
    library = import_module(LIBRARY[module])
    listed = getattr(library, "__all__", None) or dir(library)
    public = [name for name in listed if not name.startswith("_")]
    return sorted(name for name in public if public_value(module, name) is not ABSENT)
