"""gradtrace: see and check gradients.

The library has PyTorch's names (`import gradtrace as torch` runs small scripts unchanged) on an engine of its own over
numpy. The names below are the public ones; families of operators load when first used.
"""

from __future__ import annotations

from importlib import import_module

from gradtrace.annotations import Any

__version__ = "0.1.0"

_ENGINE = (
    "Size",
    "Tensor",
    "device",
    "dtype",
    "enable_grad",
    "get_default_dtype",
    "inference_mode",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_default_dtype",
    "set_grad_enabled",
)
_DTYPES = {
    "float64": "float64",
    "double": "float64",
    "float32": "float32",
    "float": "float32",
    "float16": "float16",
    "half": "float16",
    "int64": "int64",
    "long": "int64",
    "int32": "int32",
    "int": "int32",
    "int16": "int16",
    "short": "int16",
    "int8": "int8",
    "uint8": "uint8",
    "bool": "bool_",
}
_CONSTANTS = {
    "pi": 3.141592653589793,
    "e": 2.718281828459045,
    "inf": float("inf"),
    "nan": float("nan"),
    "newaxis": None,
    "strided": "torch.strided",
    "contiguous_format": "torch.contiguous_format",
    "preserve_format": "torch.preserve_format",
}
_MODULES = {
    "nn": "gradtrace.nn",
    "optim": "gradtrace.optim",
    "func": "gradtrace.func",
    "autograd": "gradtrace.autograd",
    "linalg": "gradtrace.linalg",
    "utils": "gradtrace.utils",
    "special": "gradtrace.special",
    "signal": "gradtrace.signal",
    "trace": "gradtrace.trace",
}
# Parts of the package that are no names of PyTorch's: looking for them among the operators would load every family.
_PARTS = ("cli", "engine", "errors", "lang", "ops", "views")
_ELSEWHERE = {
    "draw": "gradtrace.views.notebook",
    "set_printoptions": "gradtrace.engine.text",
    "vmap": "gradtrace.func",
}


def __getattr__(name: str) -> Any:
    value = _find(name)
    globals()[name] = value
    return value


def _find(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _CONSTANTS:
        return _CONSTANTS[name]
    if name in _ENGINE:
        import_module("gradtrace.ops")  # which gives Tensor its methods
        return getattr(import_module("gradtrace.engine"), name)
    if name in _DTYPES:
        return getattr(import_module("gradtrace.engine.dtypes"), _DTYPES[name])
    if name in _ELSEWHERE:
        return getattr(import_module(_ELSEWHERE[name]), name)
    if not name.startswith("_") and name not in _PARTS:
        ops = import_module("gradtrace.ops")
        found = ops.find(ops.api.functions, name)
        if found is not None:
            return found
    raise AttributeError(f"module 'gradtrace' has no attribute '{name}'")


def __dir__() -> list[str]:
    ops = import_module("gradtrace.ops")
    ops.load()
    return sorted({*_ENGINE, *_DTYPES, *_CONSTANTS, *_MODULES, *_ELSEWHERE, *ops.api.functions, "__version__"})
