"""Write `gradtrace/program/torch_only.txt`, the public names of PyTorch that gradtrace lacks. It needs PyTorch.

python -m tools.torch_only
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from gradtrace.engine.data.tensor import Tensor
from gradtrace.program.modules import MODULES, TorchFinder
from gradtrace.program.torch_names import ABSENT

TARGET = Path(__file__).parent.parent / "gradtrace/program/torch_only.txt"
OTHERS = (
    "torch.nn.functional",
    "torch.fft",
)  # with modules of one dot; of the last, gradtrace has nothing


def public_names(module: Any) -> set[str]:
    """Return a module's public names, and those of its files, each with a dot at its end."""
    own = {name for name, value in vars(module).items() if not isinstance(value, ModuleType)}
    own |= {f"{name}." for name in ("ops", "classes") if name in vars(module)}
    files = {file.name for file in pkgutil.iter_modules(getattr(module, "__path__", ()))}
    return {name for name in own if not name.startswith("_")} | {
        f"{name}." for name in files if not name.startswith("_")
    }


def lacking() -> dict[str, list[str]]:
    """Return the names that PyTorch has and gradtrace does not, by the module."""
    torch = import_module("torch")
    finder = TorchFinder(print)
    table = {
        "torch.Tensor": sorted(name for name in dir(torch.Tensor) if not hasattr(Tensor, name))
    }
    for name in sorted({*MODULES, *OTHERS}):
        try:
            module = import_module(name)
        except ImportError:
            continue
        if name.startswith("torch") and (name.count(".") < 2 or name in OTHERS):
            names = public_names(module)
            table[name] = sorted(
                n
                for n in names
                if f"{name}.{n.rstrip('.')}" not in MODULES
                and finder.value_of(name, n.rstrip(".")) is ABSENT
            )
    finder.restore_names()
    return {
        name: public
        for name, names in table.items()
        if (public := [n for n in names if not n.startswith("_")])
    }


def text() -> str:
    return "".join(f"{module} {' '.join(names)}\n" for module, names in lacking().items())


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
