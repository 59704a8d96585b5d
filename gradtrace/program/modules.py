"""Temporary: see the sketch."""

import contextlib
import importlib.abc
import importlib.machinery
import sys
import types
from importlib import import_module

from gradtrace.lang import torch_modules
from gradtrace.lang.compilers import Compilers
from gradtrace.lang.namespaces import LIBRARY


class Told:
    def tell_once(self, text):
        print(text, file=sys.stderr)


COMPILED = Compilers(Told()).names
MODULES = {name for table in (LIBRARY, torch_modules.MODULES, COMPILED) for name in table}


class TorchModule(types.ModuleType):
    def __getattr__(self, name):
        inner = f"{self.__name__}.{name}"
        if inner in MODULES:
            value = import_module(inner)
        elif name in torch_modules.MODULES.get(self.__name__, ()):
            value = torch_modules.MODULES[self.__name__][name]
        elif name in COMPILED.get(self.__name__, ()):
            value = COMPILED[self.__name__][name]
        elif self.__name__ in LIBRARY:
            value = getattr(import_module(LIBRARY[self.__name__]), name)
        else:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        self.__dict__[name] = value
        return value


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name in MODULES:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return TorchModule(spec.name)

    def exec_module(self, module):
        real = LIBRARY.get(module.__name__)
        if real is not None and hasattr(import_module(real), "__all__"):
            module.__all__ = list(import_module(real).__all__)


@contextlib.contextmanager
def installed(tell):
    finder = Finder()
    tops = ("torch", "functorch", "tensorflow")
    before = {k: v for k, v in sys.modules.items() if k.partition(".")[0] in tops}
    for k in before:
        del sys.modules[k]
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for k in [k for k in sys.modules if k.partition(".")[0] in tops]:
            del sys.modules[k]
        sys.modules.update(before)
