"""The tables of docs/operators.md, found out by running every case of tests/ops: cogapp calls `write` there.

Each public function is watched while the cases run on float64, and again on other dtypes: which grad_fn its results
have and which dtypes it takes are what was seen. How often it can be differentiated is what those tests check.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import gradtrace as torch
from gradtrace import ops
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.op import Op

CASES = Path(__file__).parent.parent / "tests" / "ops"
DTYPES = {"float64": "float64", "float32": "float32", "int64": "int", "bool": "bool"}
SECTIONS = {
    "torch and Tensor": ("functions", "methods"),
    "torch.nn.functional": ("functional",),
    "torch.linalg": ("linalg",),
    "torch.special": ("special",),
}
SIGNS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "floor_divide": "//",
    "remainder": "%",
    "pow": "**",
    "matmul": "@",
    "neg": "-",
    "abs": "abs()",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "bitwise_not": "~",
    "bitwise_left_shift": "<<",
    "bitwise_right_shift": ">>",
}
# Public functions, but neither made of elements nor differentiated: about dtypes, memory, the random state.
NO_OPERATORS = {
    "Generator",
    "LinAlgError",
    "broadcast_shapes",
    "can_cast",
    "cpu",
    "cuda",
    "data_ptr",
    "finfo",
    "from_numpy",
    "frombuffer",
    "iinfo",
    "initial_seed",
    "is_floating_point",
    "is_inference",
    "is_same_size",
    "is_set_to",
    "is_tensor",
    "manual_seed",
    "numel",
    "promote_types",
    "resize",
    "resize_",
    "resize_as_",
    "result_type",
    "seed",
    "set_",
    "storage",
    "storage_offset",
    "get_rng_state",
    "set_rng_state",
    "type",
    "untyped_storage",
}
Seen = dict[str, Any]
Key = tuple[Any, ...]


def beside(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"ops_{name}", CASES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def key_of(function: Any) -> Key | None:
    """What tells a function's frames from others': its code and what it closes over, or the names that it alone has."""
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    return (code, *identities(cell.cell_contents for cell in function.__closure__ or ()))


def identities(values: Iterable[Any]) -> list[int]:
    """Of the records among the values, if there are any: a call may set other variables later, such as its kernel."""
    known = [value for value in values if value is not None and not isinstance(value, type)]
    return [id(value) for value in [v for v in known if isinstance(v, Op)] or known]


def public_functions() -> dict[Key, Any]:
    tables = (
        ops.api.functions,
        ops.api.methods,
        ops.api.functional,
        ops.api.linalg,
        ops.api.special,
    )
    operators = [getattr(f, "operator", f) for table in tables for f in table.values()]
    found = {key_of(f): f for f in operators}
    return {key: f for key, f in found.items() if key is not None}


class Watch:
    """Notes what public functions return while it is on."""

    def __init__(self) -> None:
        self.public = public_functions()
        self.codes = {key[0] for key in self.public} - {"names"}
        self.seen: dict[Key, Seen] = {}
        self.dtype = ""
        self.order = (
            2  # of the case now running: 2 for any, 1 for once only, 0 where backward raises
        )
        self.taken: dict[FrameType, str] = {}  # the dtype that a call now running was given

    def __call__(self, frame: FrameType, event: str, value: Any) -> None:
        if frame.f_code not in self.codes:
            return
        known = frame.f_locals
        if event == "call":
            self.taken[frame] = dtype_given(
                known[name] for name in known if name not in frame.f_code.co_freevars
            )
        if event != "return":
            return
        taken = self.taken.pop(frame)
        key: Key = (frame.f_code, *identities(known.get(name) for name in frame.f_code.co_freevars))
        if key in self.public and value is not None:
            self.note(
                self.seen.setdefault(key, {"nodes": set(), "dtypes": {}, "orders": set()}),
                taken,
                value,
            )

    def note(self, about: Seen, taken: str, value: Any) -> None:
        if taken:
            results = [out.dtype.name for out in tensors_in(value)] or [type(value).__name__]
            about["dtypes"].setdefault(taken, []).extend(results)
        for out in tensors_in(value):
            if self.dtype == "float64" and out.requires_grad:
                about["orders"].add(self.order)
                if out.grad_fn is not None:
                    about["nodes"].add(out.grad_fn.name().rpartition("::")[2])


def dtype_given(values: Iterable[Any]) -> str:
    """The dtype of the tensors among the arguments, masks and indices beside floats aside; "" when there is none."""
    found = {x.dtype.name for value in values for x in tensors_in(value)}
    return next((name for name in DTYPES if name in found), "")


def tensors_in(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from tensors_in(part)


def observed() -> dict[Key, Seen]:
    ops.load()
    cases, more, composed, generated = (
        beside(n) for n in ("cases", "more_cases", "composed_cases", "generated")
    )
    every = {
        **cases.CASES,
        **more.CASES,
        **composed.CASES,
        **composed.PLAIN,
        **composed.INTEGER,
        **composed.CASTS,
        **composed.RAISE,
    }
    every.update(generated.every_case())
    first_order = cases.FIRST_ORDER | more.FIRST_ORDER
    watch = Watch()
    for watch.dtype in DTYPES:
        for name, several in every.items():
            watch.order = 0 if name in composed.RAISE else 1 if name in first_order else 2
            for function, *arrays in several:
                run(watch, function, arrays)
    return watch.seen


def run(watch: Watch, function: Callable[..., Any], arrays: list[Any]) -> None:
    """One case in the watch's dtype; a dtype that it refuses leaves no trace."""
    leaves = [torch.tensor(np.asarray(a), dtype=getattr(torch, watch.dtype)) for a in arrays]
    for x in leaves:
        x.requires_grad_(x.is_floating_point())
    sys.setprofile(watch)
    try:
        with warnings.catch_warnings(), contextlib.suppress(Exception):
            warnings.simplefilter("ignore")
            function(*leaves)
    finally:
        sys.setprofile(None)


# ---- the tables


def merged(found: list[Seen]) -> Seen:
    """What was seen of a name's forms together."""
    total: Seen = {"nodes": set(), "dtypes": {}, "orders": set()}
    for about in found:
        total["nodes"] |= about["nodes"]
        total["orders"] |= about["orders"]
        for dtype, results in about["dtypes"].items():
            total["dtypes"].setdefault(dtype, []).extend(results)
    return total


def dtypes_text(dtypes: dict[str, list[str]]) -> str:
    """Each kind of input that is taken, and the result's dtype where it is another."""
    groups: dict[str, list[str]] = {}
    for dtype, shown in DTYPES.items():
        results = dtypes.get(dtype)
        if results:
            groups.setdefault("" if dtype in results else results[0], []).append(shown)
    texts = (
        ", ".join(kinds).replace("float64, float32", "float") + (f" → {to}" if to else "")
        for to, kinds in groups.items()
    )
    return "; ".join(texts)


def order_text(about: Seen) -> str:
    return (
        {2: "any", 1: "1", 0: "backward raises"}[max(about["orders"])] if about["orders"] else "-"
    )


def forms_text(name: str, tables: tuple[str, ...]) -> str:
    found = [
        letter
        for letter, table in (("f", "functions"), ("m", "methods"))
        if table in tables and name in getattr(ops.api, table)
    ]
    if "methods" not in tables:
        function = getattr(ops.api, tables[0])[name]
        return "f k" if "inplace" in inspect.signature(function).parameters else "f"
    found += ["i"] if hasattr(Tensor, name + "_") else []
    found += [f"`{SIGNS[name]}`".replace("|", "\\|")] if name in SIGNS else []
    return " ".join(found)


def operator_of(table: str, name: str) -> Any:
    """The function of a public name, which aliases share."""
    function = getattr(ops.api, table).get(name)
    return getattr(function, "operator", function)


def row_groups(tables: tuple[str, ...]) -> Iterator[tuple[list[str], list[Any]]]:
    """The names that share their functions, with these functions."""
    by_function: dict[tuple[int, ...], list[str]] = {}
    names = {name for table in tables for name in getattr(ops.api, table)}
    for name in sorted(names, key=str.lower):
        if name.startswith("_") or (name.endswith("_") and name[:-1] in names):
            continue
        if name not in NO_OPERATORS and not name.endswith("Tensor"):
            functions = tuple(id(operator_of(table, name)) for table in tables)
            by_function.setdefault(functions, []).append(name)
    for same in by_function.values():
        found = [
            operator_of(table, name)
            for table in tables
            for name in same
            if name in getattr(ops.api, table)
        ]
        same.sort(key=lambda name: name != found[0].__name__)  # its own name before its aliases
        yield same, found


def without_case() -> list[str]:
    """Public names that no case calls."""
    seen = observed()
    return [
        same[0]
        for tables in SECTIONS.values()
        for same, found in row_groups(tables)
        if not any(key_of(f) in seen for f in found)
    ]


def rows(tables: tuple[str, ...], seen: dict[Key, Seen]) -> Iterator[str]:
    for same, found in row_groups(tables):
        shown = ", ".join(f"`{name}`" for name in same)
        start = f"| {shown} | {forms_text(same[0], tables)}"
        if not any(key_of(f) in seen for f in found):
            yield f"{start} | not tried | | |"
            continue
        about = merged([seen[key] for key in map(key_of, found) if key in seen])
        nodes = ", ".join(sorted(about["nodes"])) or "-"
        yield f"{start} | {nodes} | {dtypes_text(about['dtypes']) or '-'} | {order_text(about)} |"


def write(out: Callable[[str], None]) -> None:
    """The tables as Markdown, line by line."""
    seen = observed()
    for title, tables in SECTIONS.items():
        out(f"\n## {title}\n")
        out("| name | forms | grad_fn | dtypes | derivatives |\n| --- | --- | --- | --- | --- |")
        for row in rows(tables, seen):
            out(row)
