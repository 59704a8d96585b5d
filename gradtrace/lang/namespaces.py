"""The modules that a program can import, as frozen tables of listed or public names; never a real module.

LIBRARY maps torch's modules to gradtrace's, of which only public names are available (those in `__all__`, returned by
the module's `__getattr__`, or defined in it). Python's modules are listed name by name in `python_modules`.
"""

from __future__ import annotations

from importlib import import_module as real_import

from gradtrace import ops
from gradtrace.annotations import Any
from gradtrace.errors import UnknownNameError
from gradtrace.lang import compilers, python_modules, torch_modules
from gradtrace.lang.library import for_program
from gradtrace.lang.values import FIXED, Flags
from gradtrace.lang.words import words

# The modules of torch that have the same name in gradtrace.
SAME_NAMES = words("""amp autograd autograd.graph distributions distributions.constraints distributions.kl
    distributions.transforms func linalg nn nn.functional nn.init nn.modules nn.parameter nn.utils
    nn.utils.parametrizations nn.utils.parametrize nn.utils.prune nn.utils.rnn optim optim.lr_scheduler optim.swa_utils
    random signal signal.windows special testing utils utils.benchmark utils.checkpoint utils.data""")
LIBRARY = {
    "torch": "gradtrace",
    "torch.functional": "gradtrace",
    **{f"torch.{name}": f"gradtrace.{name}" for name in SAME_NAMES},
    **{f"torch.nn.modules.{name}": f"gradtrace.nn.modules.{name}" for name in torch_modules.LAYER_FILES},
    **{f"torch.distributions.{name}": "gradtrace.distributions" for name in torch_modules.DISTRIBUTION_FILES},
    **{f"torch.optim.{name}": "gradtrace.optim" for name in torch_modules.OPTIMIZER_FILES},
    **{f"torch.utils.data.{name}": "gradtrace.utils.data" for name in words("dataloader dataset distributed sampler")},
    **{f"torch.amp.{name}": "gradtrace.amp" for name in ("autocast_mode", "grad_scaler")},
    **{f"torch.cuda.amp{name}": "gradtrace.amp.cuda" for name in ("", ".autocast_mode", ".grad_scaler")},
    "torch.distributions.utils": "gradtrace.distributions.distribution",
    "torch.autograd.forward_ad": "gradtrace.func.forward_ad",
    "torch.autograd.function": "gradtrace.engine.calls.function",
    "torch.autograd.functional": "gradtrace.func.functional",
    "torch.autograd.grad_mode": "gradtrace.engine.data.modes",
    "torch.nn.utils.stateless": "gradtrace.func.stateless",
    "torch.nn.parallel": "gradtrace.nn.modules.container",
    "torch.optim.optimizer": "gradtrace.optim.optimizer",
    "torch.sparse": "gradtrace.ops.linalg.sparse",
    "functorch": "gradtrace.func.functorch",
    "tensorflow.compat": "gradtrace.static.tf1",
}
for _tensorflow in ("tensorflow", "tensorflow.compat.v1"):
    LIBRARY[_tensorflow] = "gradtrace.static.tf1"
    LIBRARY[f"{_tensorflow}.train"] = "gradtrace.static.train"
    LIBRARY[f"{_tensorflow}.nn"] = LIBRARY[f"{_tensorflow}.losses"] = "gradtrace.static.tf1_nn"
ONLY = {
    "torch.autograd.grad_mode": words("no_grad enable_grad set_grad_enabled inference_mode"),
    "torch.autograd.function": words("Function FunctionCtx once_differentiable"),
    "torch.functional": torch_modules.FUNCTIONAL,
    "torch.optim.optimizer": words("Optimizer required"),
    "torch.sparse": words("FloatTensor mm sum"),
    "torch.nn.parallel": words("DataParallel DistributedDataParallel"),
    "torch.nn.utils.stateless": words("functional_call"),
    "tensorflow.compat": frozenset(),
    "tensorflow.losses": words("mean_squared_error"),
    "tensorflow.compat.v1.losses": words("mean_squared_error"),
}
PLOTTING = words("""matplotlib matplotlib.animation matplotlib.axes matplotlib.cm matplotlib.collections
    matplotlib.colors matplotlib.dates matplotlib.figure matplotlib.gridspec matplotlib.image matplotlib.lines
    matplotlib.patches matplotlib.pyplot matplotlib.style matplotlib.ticker matplotlib_inline
    matplotlib_inline.backend_inline mpl_toolkits mpl_toolkits.axes_grid1 mpl_toolkits.mplot3d
    mpl_toolkits.mplot3d.art3d mpl_toolkits.mplot3d.axes3d seaborn""")  # `figures` implements them
SAVING = ("load", "save")  # torch's functions that work on what the run keeps
MODULE = type(real_import("sys"))
MISSING = object()
OTHERWISE = "use other operators"
NEAR = 0.8  # how much of a name must be the same for it to be a mistyped one
OWN = "--allow-import DIR names the folder that it may be in"


class Namespace(Flags):
    """A module of a program. Names are looked up once and then cached; only the flags of a backend can be set."""

    def __init__(self, name: str, modules: Modules) -> None:
        self.__dict__.update(__name__=name, _modules=modules)

    def __getattr__(self, name: str) -> Any:
        value = for_program(look_up(self.__name__, name, self._modules))
        self.__dict__[name] = value
        return value

    _listed = torch_modules.UNDERSCORED

    @property
    def _flags(self) -> frozenset[str]:  # type: ignore[override]
        return torch_modules.FLAGS.get(self.__name__, frozenset())

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._flags or type(value) not in torch_modules.FLAG_TYPES:
            raise AttributeError(f"module '{self.__name__}' is read-only")
        self.__dict__[name] = value

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"module '{self.__name__}' is read-only")

    def __dir__(self) -> list[str]:
        inner = (name.rpartition(".") for name in LIBRARY)
        return [*exported_names(self.__name__), *(name for outer, _, name in inner if outer == self.__name__)]

    def __repr__(self) -> str:
        return f"<module '{self.__name__}'>"


class Modules:
    """The modules of one run, created on first use."""

    def __init__(self, python: python_modules.Python) -> None:
        self.python = python
        self.compilers = compilers.Compilers(python.streams)
        self.namespaces: dict[str, Namespace] = {}


def namespace(name: str, modules: Modules) -> Namespace:
    if name not in modules.namespaces:
        modules.namespaces[name] = Namespace(name, modules)
    return modules.namespaces[name]


# ---- name lookup


def look_up(module: str, name: str, modules: Modules) -> Any:
    """Return a public name of a module, or raise AttributeError (its `_gradtrace` is the error shown if uncaught)."""
    if is_offered(f"{module}.{name}"):
        return namespace(f"{module}.{name}", modules)
    if name in torch_modules.MODULES.get(module, ()):
        return torch_modules.MODULES[module][name]
    if name in modules.compilers.names.get(module, ()):
        return modules.compilers.names[module][name]
    if name in python_modules.NAMES.get(module, ()):
        return modules.python.find(module, name)
    if module == "torch" and name in SAVING:
        return getattr(modules.python.saved, name)
    if module in PLOTTING:
        return modules.python.figures.find(module, name)
    value: Any = public_value(module, name) if module in LIBRARY else MISSING
    if value is not MISSING:
        if module.startswith("tensorflow"):
            from gradtrace.lang import tensorflow_module

            return tensorflow_module.adapt(name, value, modules.python.meter)
        return torch_modules.adapt(name, value) if module == "torch" else value
    error = AttributeError(f"module '{module}' has no attribute '{name}'")
    error.__gradtrace__ = not_available(f"{module}.{name}", suggest(module, name))  # type: ignore[attr-defined]
    raise error


def not_available(name: str, hint: str, what: str = "") -> UnknownNameError:
    error = UnknownNameError(f"{what or name} is not available in gradtrace scripts", hint)
    error.missing = name
    return error


def public_value(module: str, name: str) -> Any:
    """Return the public value of this name in one of torch's modules, or MISSING."""
    if name.startswith("__") or (module in ONLY and name not in ONLY[module]):
        return MISSING
    real = real_import(LIBRARY[module])
    value = MISSING
    if name in getattr(real, "__all__", ()):
        value = getattr(real, name)
    elif "__getattr__" in vars(real):
        try:
            value = real.__getattr__(name)
        except AttributeError:
            return MISSING
    elif getattr(getattr(real, name, None), "__module__", None) == real.__name__:
        value = getattr(real, name)
    if not isinstance(value, MODULE):
        return value
    # gradtrace.trace is a package, but torch.trace in a program is the function.
    return ops.find(ops.api.functions, name) or MISSING


def exported_names(module: str) -> list[str]:
    """Return the names that `from module import *` binds; empty for an unknown module."""
    known = offered_name(module)
    if known is None:
        return []
    if known in python_modules.NAMES:
        return sorted(python_modules.NAMES[known])
    if known not in LIBRARY:
        return []
    real = real_import(LIBRARY[known])
    return sorted(n for n in public_names(real) if not n.startswith("_") and public_value(known, n) is not MISSING)


def public_names(real: Any) -> list[str]:
    return list(getattr(real, "__all__", None) or dir(real))


# ---- imports


def is_offered(name: str) -> bool:
    tables = (LIBRARY, python_modules.NAMES, torch_modules.MODULES, compilers.MODULES, PLOTTING)
    return any(name in table for table in tables)


def offered_name(name: str) -> str | None:
    """Return the module's name in the tables, where gradtrace is called torch; None for an unknown module."""
    if name == "gradtrace" or name.startswith("gradtrace."):
        name = "torch" + name[len("gradtrace") :]
    return name if is_offered(name) else None


def import_module(name: str, modules: Modules) -> Namespace:
    known = offered_name(name)
    if known is None:
        raise module_not_found(name)
    return namespace(known, modules)


def import_from(module: str, name: str, modules: Modules) -> Any:
    known = offered_name(module)
    if known is None:
        raise module_not_found(module)
    if module == "__future__":
        return None
    try:
        if name.startswith("_") and name not in torch_modules.UNDERSCORED:
            raise AttributeError(name)  # a field of Namespace, not a name of the module
        return getattr(namespace(known, modules), name)
    except AttributeError:
        error = ImportError(f"cannot import name '{name}' from '{module}'", name=name)
        error.__gradtrace__ = not_available(f"{module}.{name}", suggest(known, name))  # type: ignore[attr-defined]
        raise error from None


def module_not_found(name: str) -> ImportError:
    """Return a ModuleNotFoundError, which programs may catch; its `_gradtrace` is the error shown if uncaught."""
    import difflib

    if name.startswith("."):
        error: ImportError = ImportError("attempted relative import with no known parent package")
        refusal = UnknownNameError("a script cannot import other files", f"put all code in one file; or {OWN}")
        error.__gradtrace__ = refusal  # type: ignore[attr-defined]
        return error
    error = ModuleNotFoundError(f"No module named '{name}'", name=name)
    known = [*LIBRARY, *python_modules.NAMES, *torch_modules.MODULES, *PLOTTING]
    outer, _, own = name.rpartition(".")
    if outer in known:  # a package: only its own modules are near
        inner = [n.rpartition(".")[2] for n in known if n.rpartition(".")[0] == outer]
        close = [f"{outer}.{n}" for n in difflib.get_close_matches(own, inner, 1, NEAR)]
    else:
        close = difflib.get_close_matches(name, known, 1, NEAR)
    top = sorted({n.partition(".")[0] for n in known if not n.startswith("_")})
    hint = f"did you mean '{close[0]}'?" if close else f"available: {', '.join(top)}; a file beside the program: {OWN}"
    if outer in known and not close:
        hint = OTHERWISE if outer in LIBRARY else "remove it, or define it in the script"
    if name.partition(".")[0] in torch_modules.OTHER_PACKAGES:
        hint = torch_modules.DATA
    if "tensorboard" in name:
        hint = torch_modules.TENSORBOARD
    error.__gradtrace__ = not_available(name, hint, f"the module '{name}'")  # type: ignore[attr-defined]
    return error


Namespace.__name__ = Namespace.__qualname__ = "module"
FIXED.add(Namespace)


def suggest(module: str, name: str) -> str:
    """Return a hint for a name that does not exist in a module."""
    import difflib

    if (module, name) in torch_modules.REFUSED:
        return torch_modules.REFUSED[module, name]
    known = sorted((*python_modules.NAMES.get(module, ()), *torch_modules.MODULES.get(module, ())))
    if module in LIBRARY:
        known += sorted(public_names(real_import(LIBRARY[module])))
    close = [n for n in difflib.get_close_matches(name, known, 4, NEAR) if module not in LIBRARY or has_name(module, n)]
    if close:
        return f"nearest: {', '.join(close[:3])}"
    if module in LIBRARY:
        return OTHERWISE
    return f"available: {', '.join(known)}" if 0 < len(known) < 16 else "remove it, or define it in the script"


def has_name(module: str, name: str) -> bool:
    return name in torch_modules.MODULES.get(module, ()) or public_value(module, name) is not MISSING
