"""Find which module of PyTorch a name belongs to, for the hints of unknown names.

`torch_only.txt` has a line for each module: the public names that PyTorch has there and gradtrace
does not (`python -m tools.torch_only` writes it). A module in it ends with a dot.
"""

from __future__ import annotations

import os

from gradtrace.annotations import Any
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lazy_names import words
from gradtrace.program.names import FORMULAS, SYNONYMS
from gradtrace.program.torch_names import ABSENT, LIBRARY, public_value

# Modules whose functions a bare name may mean, in the order in which they are searched.
SEARCHED = words("""
    torch.nn.functional torch torch.linalg torch.special torch.nn torch.func torch.fft
    torch.optim torch.sparse torch.distributions
""")
METHODS = "torch.Tensor"


def only_in_pytorch() -> dict[str, list[str]]:
    """Return the names that PyTorch has and gradtrace does not, by the module."""
    path = os.path.join(os.path.dirname(__file__), "torch_only.txt")
    with open(path, encoding="utf-8") as file:
        return {module: names for module, *names in map(str.split, file)}


def has(module: str, name: str) -> bool:
    """Whether gradtrace has a name of a module of torch."""
    return module in LIBRARY and public_value(module, name) is not ABSENT


def home_of(name: str) -> str:
    """Return the full name of gradtrace's function or class: "torch.quantile"; "" if none has this
    name.
    """
    for module in SEARCHED:
        if has(module, name):
            short = {"torch.nn.functional": "F", "torch.nn": "nn"}.get(module, module)
            return f"{short}.{name}"
    return ""


def needs_pytorch(name: str, modules: tuple[str, ...] = SEARCHED) -> str:
    """Return the hint for a name that only PyTorch has; "" for any other."""
    table = only_in_pytorch()
    full = next((f"{module}.{name}" for module in modules if name in table.get(module, ())), "")
    how = "needs PyTorch: write it in a file, and give --engine torch"
    return f"{full} {how}" if full else ""


def pytorch_has(full_name: str) -> bool:
    """Whether PyTorch has a name that gradtrace lacks (torch.fft.fft), as far as is known."""
    module, _, name = full_name.rpartition(".")
    names = only_in_pytorch().get(module)
    if not module or name.startswith("_"):
        return True
    return (
        pytorch_has(module) or module in LIBRARY
        if names is None
        else name in names or f"{name}." in names
    )


def of_name(name: str) -> str:
    """Return the hint for an unknown name that means something of PyTorch's, or a formula; ""
    without one.
    """
    if name in SYNONYMS:
        return f"it is '{SYNONYMS[name]}' here"
    if name in FORMULAS:
        return f"{name}(x) is {FORMULAS[name]}"
    home = home_of(name)
    return f"it is '{home}' here" if home else needs_pytorch(name)


def of_attribute(owner: Any, name: str) -> str:
    """Return the hint for an attribute that a tensor or a module of torch does not have; ""
    without one.
    """
    if not isinstance(owner, Tensor):
        return "" if pytorch_has(f"{owner.__name__}.{name}") else of_name(name)
    home = home_of(name)
    return f"it is a function, {home}" if home else needs_pytorch(name, (METHODS,))


def is_of_numpy(name: str) -> bool:
    """Whether numpy has a function of this name, so that it is not a misspelt one of torch."""
    try:
        import numpy
    except ImportError:
        return False
    return hasattr(numpy, name)
