"""Map each operator name to the family that defines it, so that looking up a name imports only that
family.

`families.txt` has one line for each family: its module, then the public names and the record names
that it defines. The last line, of Tensor, lists the attributes that families add to Tensor. `python
-m tools.generate` writes it; run it after adding an operator. A name that is not in it is searched
for in every family, which is slow but correct.
"""

from __future__ import annotations

import os
from importlib import import_module

_families: dict[str, list[str]] = {}  # by name


def read_names() -> dict[str, list[str]]:
    """Return the names that each family defines, and under "Tensor" the attributes of Tensor."""
    with open(os.path.join(os.path.dirname(__file__), "families.txt"), encoding="utf-8") as file:
        return {family: names for family, *names in map(str.split, file)}


NAMES = read_names()
METHODS = NAMES.pop("Tensor")


def of(name: str) -> list[str]:
    """Return the families that define a public name or a record name; an empty list if it is
    unknown.
    """
    if not _families:
        for family, names in NAMES.items():
            for defined in names:
                _families.setdefault(defined, []).append(family)
    return _families.get(name, [])


def load_for(name: str) -> None:
    """Import the families that define a name; do nothing if none does."""
    for family in of(name):
        import_module(f"gradtrace.ops.{family}")
