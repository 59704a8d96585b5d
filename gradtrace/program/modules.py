"""The modules that a program imports: gradtrace's library under PyTorch's names.

    with installed(tell):
        exec(code, namespace)          import torch; from torch import nn; import
                                       torch.nn.functional as F

A finder at the front of `sys.meta_path` creates the modules of torch, functorch and tensorflow when
a program imports them. Names of a module are looked up in gradtrace when they are first used. A
finder at the end creates stand-ins for matplotlib and tqdm where they are not installed.
`missing_from_torch` returns what PyTorch has and gradtrace lacks, if this is why a program failed.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

from gradtrace.annotations import Any, Callable, Iterator
from gradtrace.engine.calls.function import FunctionMeta
from gradtrace.engine.data.describe import Size, device, layout, memory_format
from gradtrace.engine.data.dtypes import dtype
from gradtrace.engine.data.node import RemovableHandle
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lazy_names import words
from gradtrace.program import substitutes
from gradtrace.program.checkpoints import Checkpoints
from gradtrace.program.class_homes import torch_home
from gradtrace.program.compile_names import COMPILED_MODULES, compiler_names
from gradtrace.program.figure_files import FigureFinder
from gradtrace.program.torch_names import (
    ABSENT,
    ANSWERS,
    LIBRARY,
    exported_names,
    public_value,
    settings,
)

MODULES = frozenset((*LIBRARY, *ANSWERS, *COMPILED_MODULES))
# The packages all of whose classes a program may see; in others, it sees those that it names.
RENAMED = (
    *(f"gradtrace.{name}." for name in ("amp", "distributions", "nn", "optim", "utils")),
    "gradtrace.ops.random.generator",
)
FUNCTIONS_TOO = ("torch.autograd.gradcheck",)
PACKAGES = ("torch", "functorch", "tensorboard", "tensorflow")
# Packages that are made of PyTorch's compiled code or call it from their own: importing them here
# would fail after long work, or load PyTorch's libraries. Other packages on PyTorch are imported,
# and may run.
NEED_PYTORCH = words("""
    accelerate apex bitsandbytes captum deepspeed detectron2 dgl diffusers fairseq fastai flash_attn lightning
    lightning_fabric mmcv monai optimum peft pytorch3d pytorch_lightning sentence_transformers timm torch_cluster
    torch_geometric torch_scatter torch_sparse torchao torchaudio torchdata torchrl torchtext torchtune torchvision
    transformers triton trl unsloth xformers
""")

# Other packages whose programs compute with PyTorch: where they are not installed, PyTorch is
# probably wanted.
ON_PYTORCH = words("""
    botorch catalyst compressai e3nn einops escnn flair geoopt gpytorch ignite kornia lion_pytorch lpips
    open_clip opacus pl_bolts pyro pytorch_metric_learning pytorch_msssim pytorch_optimizer pytorch_tabnet
    segmentation_models_pytorch skorch speechbrain spikingjelly tensordict torch_optimizer torchdiffeq torchgeo
    torchinfo torchio torchmetrics torchsde torchsummary torchtyping vit_pytorch
""")

Tell = Callable[[str], None]


class TorchModule(ModuleType):
    """A module of torch in a program. Its names are looked up in gradtrace when they are first
    used.
    """

    _finder: TorchFinder

    def __getattr__(self, name: str) -> Any:
        value = self._finder.value_of(self.__name__, name)
        if value is ABSENT:
            raise AttributeError(
                f"module '{self.__name__}' has no attribute '{name}'", name=name, obj=self
            )
        # the library's own state, such as the level of forward mode, changes
        if not name.startswith("_"):
            self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # Python binds each imported module in its package, where PyTorch has a function of the same
        # name.
        if not (
            isinstance(value, TorchModule)
            and self._finder.function_of(self.__name__, name) is not None
        ):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._finder.names_of(self.__name__)})

    def __repr__(self) -> str:
        return f"<module '{self.__name__}' from gradtrace>"


TorchModule.__name__ = TorchModule.__qualname__ = "module"
TorchModule.__module__ = "builtins"


class TorchFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of torch, functorch and tensorflow in gradtrace."""

    def __init__(self, tell: Tell) -> None:
        self.renamed_modules: set[str] = set()  # modules whose classes are renamed
        self.renamed: list[tuple[type, str]] = []
        for kind in (
            FunctionMeta,
            RemovableHandle,
            Size,
            Tensor,
            device,
            dtype,
            layout,
            memory_format,
        ):
            self.rename(kind)
        self.rename_classes()
        self.checkpoints = Checkpoints(tell)
        # names of this run
        self.own = (ANSWERS, compiler_names(tell), self.checkpoints.names(), settings())

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of a module of torch; ImportError for a package that needs PyTorch
        itself.
        """
        if name in MODULES:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        if name in NEED_PYTORCH:
            if importlib.machinery.PathFinder.find_spec(name) is None:
                return None
            raise ImportError(
                f"{name} needs PyTorch itself, which this program runs without", name=name
            )
        return None

    def create_module(self, spec: Any) -> ModuleType:
        """Return an empty module, which knows its finder."""
        module = TorchModule(spec.name)
        module._finder = self
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: names are looked up when they are used."""

    def value_of(self, module: str, name: str) -> Any:
        """Return the value of a module's name, or ABSENT."""
        if f"{module}.{name}" in MODULES:
            function = self.function_of(module, name)
            return import_module(f"{module}.{name}") if function is None else function
        for table in self.own:
            if name in table.get(module, ()):
                return table[module][name]
        if name == "__all__":
            return [listed for listed in self.names_of(module) if not listed.startswith("_")]
        value = public_value(module, name) if module in LIBRARY else ABSENT
        self.rename_classes()
        if (
            isinstance(value, type)
            and value.__module__.startswith("gradtrace.")
            and module.startswith("torch")
        ):
            self.rename(value)
        return value

    def rename_classes(self) -> None:
        """Rename the classes of the library's modules that were imported since the last call."""
        for name in [
            name
            for name in sys.modules
            if name.startswith(RENAMED) and name not in self.renamed_modules
        ]:
            self.renamed_modules.add(name)
            for kind in list(vars(sys.modules[name]).values()):
                if isinstance(kind, type) and kind.__module__ == name:
                    self.rename(kind)

    def rename(self, kind: type) -> None:
        """Make PyTorch's module the one that a class of the library names, until the end of the
        run.
        """
        self.renamed.append((kind, kind.__module__))
        kind.__module__ = torch_home(kind)

    def restore_names(self) -> None:
        """Give the renamed classes their own modules back."""
        while self.renamed:
            kind, module = self.renamed.pop()
            kind.__module__ = module

    def function_of(self, module: str, name: str) -> Any:
        """Return the function that has the same name as a module (torch.autograd.gradcheck); else
        None.
        """
        return public_value(module, name) if f"{module}.{name}" in FUNCTIONS_TOO else None

    def names_of(self, module: str) -> list[str]:
        """Return the names of a module, its own modules included."""
        inner = [name.rpartition(".")[2] for name in MODULES if name.rpartition(".")[0] == module]
        public = exported_names(module) if module in LIBRARY else []
        return sorted(
            {*public, *inner, *(name for table in self.own for name in table.get(module, ()))}
        )


class SubstituteFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds simple stand-ins for packages that are not installed."""

    def __init__(self, tell: Tell) -> None:
        self.tell = tell

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of a stand-in."""
        if not substitutes.has_substitute(name):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> ModuleType:
        """Return the stand-in."""
        return substitutes.make_module(spec.name, self.tell)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module is complete."""


@contextmanager
def installed(tell: Tell) -> Iterator[None]:
    """Within this context, `import torch` finds gradtrace; `tell` prints a line for the user, once
    for each text.

    Modules of these names that were imported before, such as those of PyTorch itself, are put back
    afterwards.
    """
    told: set[str] = set()

    def tell_once(text: str) -> None:
        if text not in told:
            told.add(text)
            tell(text)

    first = TorchFinder(tell_once)
    figures = FigureFinder(tell_once)
    last = SubstituteFinder(tell_once)
    before = take_out()
    sys.meta_path[:0] = (first, figures)
    sys.meta_path.append(last)
    try:
        yield
    finally:
        for finder in (first, figures, last):
            sys.meta_path.remove(finder)
        take_out()
        sys.modules.update(before)
        first.restore_names()
        first.checkpoints.restore()
        figures.restore()


def take_out() -> dict[str, ModuleType]:
    """Remove the modules that programs may have in another form from `sys.modules`, and return
    them.
    """
    replaced = {name: module for name, module in sys.modules.items() if is_replaced(name, module)}
    for name in replaced:
        del sys.modules[name]
    return replaced


def is_replaced(name: str, module: Any) -> bool:
    """Whether a module is of a package that a finder provides, or one of a finder's stand-ins."""
    return name.partition(".")[0] in PACKAGES or isinstance(module, substitutes.Substitute)


# ---- errors


def missing_from_torch(error: BaseException) -> str:
    """Return the name that PyTorch may have and gradtrace does not, if that is why an error was
    raised; else "".

    It is a name of torch ("torch.fft"), or a package that needs PyTorch ("torchvision").
    """
    if isinstance(error, AttributeError) and isinstance(error.obj, TorchModule):
        return f"{error.obj.__name__}.{error.name}"
    if isinstance(error, ImportError) and error.name:
        package = error.name.partition(".")[0]
        if package in PACKAGES:
            return imported_name(error)
        if package in NEED_PYTORCH or (
            isinstance(error, ModuleNotFoundError) and package in ON_PYTORCH
        ):
            return package
    return ""


def imported_name(error: ImportError) -> str:
    """Return the full name that an import statement asked for."""
    name = getattr(error, "name_from", None)  # Python 3.12
    if name is None and str(error).startswith("cannot import name "):
        name = str(error).split("'")[1]
    return f"{error.name}.{name}" if name else str(error.name)
