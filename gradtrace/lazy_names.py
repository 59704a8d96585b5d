"""Module attributes that load on first use (PEP 562): one `__getattr__` and `__dir__` for all
packages of gradtrace.

HOMES = homes("gradtrace.optim", {"sgd": "SGD ASGD", "lbfgs": "LBFGS"})
__getattr__, __dir__ = attach(__name__, HOMES, shown_as="torch.optim")
"""

from __future__ import annotations

import sys
from importlib import import_module

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, Iterable, Mapping

if TYPE_CHECKING:
    Home = str | Callable[[str], Any]


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text, in order: tables of names are written as texts."""
    return tuple(text.split())


def word_pairs(text: str) -> dict[str, str]:
    """Return the words of a text as a dict: each second one is the value of the one before."""
    listed = words(text)
    return dict(zip(listed[::2], listed[1::2], strict=True))


def homes(package: str, names_by_module: Mapping[str, str]) -> dict[str, str]:
    """Return a dict from each name to its module, given the names that each module of a package
    defines, as a text.
    """
    return {
        name: f"{package}.{module}"
        for module, names in names_by_module.items()
        for name in words(names)
    }


def attach(
    module_name: str,
    names: Mapping[str, Home],
    *,
    modules: Mapping[str, str] | None = None,
    operators: str = "",
    not_operators: Iterable[str] = (),
    listed: Iterable[str] = (),
    shown_as: str = "",
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions `__getattr__` and `__dir__` of a module.

    names          maps a name to the module that defines it ("package.module"), to
                   "package.module:attribute" where the attribute has another name there, or to a
                   function that returns the value for the name
    modules        maps a name to the module that it stands for
    operators      the table of `gradtrace.ops.api` in which any other name is looked up, except
                   names that start with an underscore and those of `not_operators`
    listed         names for `__dir__` that the module defines itself
    shown_as       the name of the module in errors; `module_name` by default

    A value is stored in the module, so Python does not call `__getattr__` for it again.
    AttributeError for an unknown name.
    """
    modules = modules or {}
    excluded = frozenset(not_operators)
    title = shown_as or module_name

    def find(name: str) -> Any:
        home = names.get(name)
        if isinstance(home, str):
            module, _, attribute = home.partition(":")
            return getattr(import_module(module), attribute or name)
        if home is not None:
            return home(name)
        if name in modules:
            return import_module(modules[name])
        if operators and not name.startswith("_") and name not in excluded:
            ops = import_module("gradtrace.ops")
            operator = ops.find(getattr(ops.api, operators), name)
            if operator is not None:
                return operator
        raise AttributeError(f"module '{title}' has no attribute '{name}'")

    def __getattr__(name: str) -> Any:
        value = find(name)
        setattr(sys.modules[module_name], name, value)
        return value

    def __dir__() -> list[str]:
        attributes = {*names, *modules, *listed}
        if operators:
            ops = import_module("gradtrace.ops")
            ops.load()
            attributes.update(getattr(ops.api, operators))
        return sorted(attributes)

    return __getattr__, __dir__
