"""Write `gradtrace/ops/families.txt`, the names that each family of operators defines."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from gradtrace import ops
from gradtrace.engine.data.tensor import Later, Tensor
from gradtrace.engine.operators import op
from gradtrace.ops import families


def registered() -> dict[str, list[str]]:
    """Import all families and return the names that each registers. Call it only in a fresh process."""
    names: dict[str, set[str]] = {}

    class Table(dict[str, object]):
        """A dict that replaces a table of `api` or of records and notes which family sets each name."""

        def __setitem__(self, name: str, value: object) -> None:
            frame = sys._getframe(1)
            while frame.f_code.co_name != "<module>" and frame.f_back is not None:
                frame = frame.f_back
            names.setdefault(frame.f_globals["__name__"].removeprefix("gradtrace.ops."), set()).add(
                name
            )
            super().__setitem__(name, value)

    for table in ("functions", "methods", "functional", "linalg", "special"):
        setattr(ops.api, table, Table(getattr(ops.api, table)))
    op.records = Table(op.records)  # type: ignore[assignment]
    for family in ops.LATER:
        before = on_tensor()
        import_module(f"gradtrace.ops.{family}")
        names.setdefault(family, set()).update((on_tensor() - before).difference(*names.values()))
    order = [*ops.LATER, *sorted({*names} - {*ops.LATER})]
    return {family: sorted(names[family]) for family in order if family in names}


def on_tensor() -> set[str]:
    """Return the names of Tensor's attributes that are not lazy placeholders."""
    return {name for name, value in vars(Tensor).items() if not isinstance(value, Later)}


def write() -> None:
    """Write the table of names."""
    at_once = on_tensor()
    names = registered()
    lines = [" ".join((family, *defined)) for family, defined in names.items()]
    lines.append(" ".join(("Tensor", *sorted(on_tensor() - at_once))))
    Path(families.__file__).with_suffix(".txt").write_text(
        "\n".join(lines) + "\n", encoding="utf-8"
    )
