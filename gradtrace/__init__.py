"""gradtrace: see and check gradients.

The library has PyTorch's names (`import gradtrace as torch` runs small scripts unchanged) and its
own autograd engine, written in Python with numpy. The names below are the public ones; families of
operators load when first used.
"""

from __future__ import annotations

import sys
from importlib import import_module

from gradtrace.annotations import Any
from gradtrace.lazy_names import attach, words

__version__ = "0.3.0"

_ENGINE = words("""
    Size Tensor device dtype enable_grad get_default_device get_default_dtype inference_mode
    is_anomaly_check_nan_enabled is_anomaly_enabled is_grad_enabled is_inference_mode_enabled is_warn_always_enabled
    no_grad set_default_device set_default_dtype set_grad_enabled set_warn_always
""")
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
}
_MEMORY_FORMATS = words("contiguous_format preserve_format channels_last channels_last_3d")
_MODULES = {
    name: f"gradtrace.{name}"
    for name in words("""
        nn optim func amp cuda distributions autograd linalg utils special signal random testing trace
    """)
}
_NOTEBOOK = ("draw", "page", "stats", "steps", "why")
# Packages of gradtrace that are not names of PyTorch: looking for them among the operators would
# load every family.
_PARTS = words("""
    analysis annotations batch cli context documents engine errors files lazy_names limits notebook ops program
    pytest_plugin sandbox static torch views
""")
# Methods that are functions too.
_METHODS_AS_FUNCTIONS = words("""
    abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ asin_ asinh_ atan_ atanh_
    ceil_ clamp_ clamp_max_ clamp_min_ clip_ cos_ cosh_ deg2rad_ detach_ erf_ erfc_ exp2_ exp_ expm1_ fill_ fix_ floor_
    frac_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ relu_ round_ rsqrt_ sigmoid_
    sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ xlogy_ zero_
    is_complex is_conj is_neg
""")


def _method(name: str) -> Any:
    import_module("gradtrace.ops")  # gives Tensor its methods
    return getattr(import_module("gradtrace.engine").Tensor, name)


def _memory_format(name: str) -> Any:
    return import_module("gradtrace.engine.data.describe").memory_format(f"torch.{name}")


def _engine_name(name: str) -> Any:
    import_module("gradtrace.ops")  # gives Tensor its methods
    return getattr(import_module("gradtrace.engine"), name)


__getattr__, __dir__ = attach(
    __name__,
    {
        **dict.fromkeys(_ENGINE, _engine_name),
        **dict.fromkeys(_METHODS_AS_FUNCTIONS, _method),
        **{
            name: f"gradtrace.engine.data.dtypes:{attribute}" for name, attribute in _DTYPES.items()
        },
        "strided": "gradtrace.engine.data.describe:STRIDED",
        **dict.fromkeys(("layout", "memory_format"), "gradtrace.engine.data.describe"),
        **dict.fromkeys(_MEMORY_FORMATS, _memory_format),
        **dict.fromkeys(_CONSTANTS, _CONSTANTS.__getitem__),
        "imag": "gradtrace.ops.shape.views",
        "default_generator": "gradtrace.ops.random.generator",
        **dict.fromkeys(("load", "save"), "gradtrace.utils.serialization"),
        "set_default_tensor_type": "gradtrace.ops.create.legacy",
        **dict.fromkeys(_NOTEBOOK, "gradtrace.notebook"),
        "check_model": "gradtrace.analysis.probes",
        "load_ipython_extension": "gradtrace.cli.magic",
        "set_printoptions": "gradtrace.engine.data.text",
        "typename": "gradtrace.nn.modules._text",
        "autocast": "gradtrace.amp",
        "vmap": "gradtrace.func",
    },
    modules=_MODULES,
    operators="functions",
    not_operators=_PARTS,
    listed=("__version__",),
)

if "IPython" in sys.modules:  # a notebook, whose cells keep what drawings will show
    import_module("gradtrace.trace.cell_values").keep_in_cells()
