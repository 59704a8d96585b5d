"""Files of gradtrace's own formats and notes, damaged where a checksum does not help: inside a document or a table.

Each one is read as a command reads it; the exit code must be 0, 1 or 2, with a line that says what is wrong.
"""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
import zlib
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

from gradtrace.errors import GradtraceError
from tests.fuzz import mutate

ODD = (
    None,
    True,
    -1,
    0,
    1,
    1 << 31,
    1 << 63,
    1 << 70,
    0.5,
    1e400,
    float("nan"),
    "",
    "x",
    "\x1b[2J",
    "leaf",
    [],
    {},
)
NESTED = re.compile(r'"__nested (\d{1,6})__"')
PROGRAMS = {
    "expression": "x: leaf = 2.0\nw: leaf = 3.0\n(x + w) * (w + 1)\n",
    "loop": "import torch\nw = torch.rand(2, 2, requires_grad=True)\nfor i in range(3):\n    y = (w * w).sum()\n"
    "    y.backward()\n",
    "training": """import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for i in range(2):
    opt.zero_grad()
    loss = net(torch.ones(4, 2)).mean()
    loss.backward()
    opt.step()
""",
    "failed": "import torch\nw = torch.ones(2, requires_grad=True)\ny = w.exp()\ny.add_(1)\ny.sum().backward()\n",
    "function": """import torch
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 2 * x * g
w = torch.ones(3, requires_grad=True)
w.register_hook(lambda g: g * 2)
y = Square.apply(w).sum()
z = w.detach().numpy().sum() + y.item()
y.backward()
""",
}
RECORD_COMMANDS = (
    ("eval", "f.gt"),
    ("trace", "f.gt"),
    ("why", "f.gt"),
    ("stats", "f.gt", "--format", "json"),
    ("graph", "f.gt"),
    ("graph", "f.gt", "--style", "autograd", "--all"),
    ("paths", "f.gt"),
    ("check", "f.gt"),
    ("diff", "f.gt", "f.gt"),
    ("stats", "f.gt"),
)
LOG_COMMANDS = (
    ("stats", "f.gtlog"),
    ("stats", "f.gtlog", "--format", "json"),
    ("stats", "f.gtlog", "--format", "csv"),
    ("stats", "f.gtlog", "-o", "f.html"),
)


def obey(args: tuple[str, ...]) -> None:
    """Run a command line in this process: exit code 0, 1 or 2, and no traceback."""
    from gradtrace.cli import main, source

    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        source.forget()
        status = main.run([*args, "--max-seconds", "3"])
    told = err.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]
    assert status in (0, 1, 2), (status, told)
    assert "Traceback (most" not in told, told
    is_told = told or "-o" in args or out.buffer.getvalue()  # type: ignore[attr-defined]
    assert status == 0 or is_told, "no word of what is wrong"


# ---- JSON


def document(rng: Random, value: Any) -> Any:
    """Return a JSON document with one to three changes."""
    value = json.loads(json.dumps(value))
    for _ in range(rng.randint(1, 3)):
        places = list(places_of(value)) if isinstance(value, (dict, list)) else []
        if not places:
            return rng.choice(ODD)
        container, key = rng.choice(places)
        change(rng, container, key, places)
    return value


def places_of(value: Any) -> Any:
    """Yield each container of a document with each of its keys."""
    pending = [value]
    for container in pending:
        for key, part in container.items() if isinstance(container, dict) else enumerate(container):
            yield container, key
            if isinstance(part, (dict, list)):
                pending.append(part)


def change(rng: Random, container: Any, key: Any, places: list[Any]) -> None:
    kind = rng.randrange(6)
    old = container[key]
    if kind == 0:
        del container[key]
    elif kind == 1 and isinstance(old, str):
        container[key] = mutate.text(rng, [old], ["x", "0", "", "Linear"], 3000)
    elif kind == 2 and type(old) in (int, float):
        container[key] = rng.choice((old + 1, old - 1, -old, old * 2, 1 << 40, 0))
    elif kind == 3:
        other, place = rng.choice(places)
        with suppress(LookupError):  # what an earlier change has removed
            container[key] = json.loads(json.dumps(other[place]))
    elif kind == 4:
        container[key] = nested(rng.choice((5, 60, 2000, 100_000)))
    else:
        container[key] = rng.choice(ODD)


def nested(depth: int) -> str:
    """Return a text in place of which `dumped` writes lists nested that deep, which json.dumps could not."""
    return f"__nested {depth}__"


def dumped(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False)
    text = NESTED.sub(lambda found: "[" * int(found[1]) + "]" * int(found[1]), text)
    return text.encode("utf-8", "surrogatepass")


# ---- records


@cache
def records() -> list[dict[str, bytes]]:
    """The parts of records of all programs."""
    from gradtrace.cli import main, source

    found = []
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        for name, text in PROGRAMS.items():
            path = Path(f"{name}.py" if "import" in text else f"{name}.txt")
            path.write_text(text)
            for options in ((), ("--precision",)):
                source.forget()
                main.run(["run", str(path), "-o", "seed.gt", *options])
                if os.path.exists("seed.gt"):
                    with zipfile.ZipFile("seed.gt") as file:
                        found.append({part: file.read(part) for part in file.namelist()})
                    os.unlink("seed.gt")
    return found


def record(rng: Random) -> tuple[dict[str, bytes] | bytes, tuple[str, ...]]:
    """Return the file of a record with changes, and the command that reads it; most are only read, which is faster."""
    parts = dict(rng.choice(records()))
    return archived(rng, parts), rng.choice(RECORD_COMMANDS) if rng.random() < 0.2 else ()


@cache
def parsed(content: bytes) -> Any:
    return json.loads(content)


def archived(rng: Random, parts: dict[str, bytes]) -> bytes:
    """Return a zip of parts of which one or two are changed, with right checksums; rarely the zip itself is changed."""
    for name in rng.sample(list(parts), min(len(parts), rng.randint(1, 2))):
        if name.endswith(".json"):
            parts[name] = dumped(document(rng, parsed(parts[name])))
        elif rng.random() < 0.6:
            parts[name] = table(rng, parts[name])
        else:
            parts[name] = mutate.data(rng, [parts[name]], 200_000)
    if rng.random() < 0.05:
        del parts[rng.choice(list(parts))]
    out = io.BytesIO()
    with zipfile.ZipFile(
        out, "w", zipfile.ZIP_DEFLATED if rng.random() < 0.1 else zipfile.ZIP_STORED
    ) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return out.getvalue() if rng.random() < 0.95 else mutate.data(rng, [out.getvalue()], 200_000)


def table(rng: Random, content: bytes) -> bytes:
    """Return an .npy file in which some numbers are others."""
    import numpy as np

    try:
        array = np.load(io.BytesIO(content)).copy()
    except Exception:
        return content
    flat = array.reshape(-1)
    for _ in range(rng.randint(1, 3)):
        if flat.size:
            place = rng.randrange(flat.size)
            with np.errstate(all="ignore"), suppress(OverflowError):
                flat[place] = rng.choice(
                    (-1, 0, 1, 2, 3, 7, 1000, flat[rng.randrange(flat.size)], 2**31 - 1)
                )
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def run_record(made: tuple[bytes, tuple[str, ...]]) -> None:
    from gradtrace.trace import file

    content, args = made
    if args:
        Path("f.gt").write_bytes(content)
        obey(args)
        return
    with suppress(GradtraceError):
        found = file.read("f.gt", io.BytesIO(content))
        for variant in found._variants:
            found.trace(variant)


# ---- flight logs


def flight(rng: Random) -> tuple[bytes, tuple[str, ...]]:
    import numpy as np

    from gradtrace.trace.flight_log import HEADER, MAGIC, checksums, header_of

    columns = [
        "time",
        "loss",
        *rng.sample(("lr", "norm a.weight", "norm a", "scale", "é", "skipped"), 2),
    ]
    header = header_of(
        columns, rng.choice((1, 3, 10)), rng.choice((None, 0, 1)), rng.random() < 0.5
    )
    if rng.random() < 0.6:
        text = header[len(MAGIC) : header.index(b"\n", len(MAGIC))].partition(b" ")[2]
        changed = dumped(document(rng, json.loads(text)))
        padding = b" " * rng.randint(0, 5)
        header = MAGIC + b"%08x " % zlib.crc32(changed) + changed + padding + b"\n"
        header = (rng.choice((1, 2)) * header).ljust(2 * HEADER)
    rows = np.arange(6.0).repeat(6).reshape(6, 6)
    rows[:, 0] = rows[:, -1] = np.arange(1, 7)
    for _ in range(rng.randint(0, 4)):
        rows[rng.randrange(6), rng.randrange(6)] = rng.choice(
            (np.nan, np.inf, -np.inf, -1, 0, 2**53, 1e308, 2, 3)
        )
    if rng.random() < 0.9:
        rows[:, -1] = checksums(rows.astype("<f8"))
    content = header + rows.astype("<f8").tobytes()
    return (mutate.data(rng, [content], 10_000) if rng.random() < 0.2 else content), rng.choice(
        LOG_COMMANDS
    )


def run_flight(made: tuple[bytes, tuple[str, ...]]) -> None:
    content, args = made
    Path("f.gtlog").write_bytes(content)
    obey(args)


# ---- notes

CELL = {
    "cell_type": "code",
    "execution_count": 1,
    "metadata": {},
    "source": ["import torch\n", "w = torch.ones(2, requires_grad=True)\n", "print(w.sum())"],
    "outputs": [
        {
            "output_type": "stream",
            "name": "stdout",
            "text": ["tensor(2., grad_fn=<SumBackward0>)\n"],
        },
        {
            "output_type": "execute_result",
            "execution_count": 1,
            "metadata": {},
            "data": {"text/plain": ["1"]},
        },
        {"output_type": "error", "ename": "ValueError", "evalue": "x", "traceback": ["x"]},
    ],
}
NOTEBOOK = {
    "nbformat": 4,
    "nbformat_minor": 5,
    "metadata": {"kernelspec": {"name": "python3"}},
    "cells": [
        CELL,
        {"cell_type": "markdown", "metadata": {}, "source": "# Text"},
        {**CELL, "source": "%%gradtrace eval --x 2\nx * x", "outputs": []},
        {**CELL, "source": "%time 1 + 1\n!ls\nx = 2"},
    ],
}
NOTES = {
    ".md": "# T\n\n```python\nprint(1)\n```\n\n```\n1\n```\n\n```console\n$ gradtrace eval x*x --x 2\n4\n```\n\n"
    "```{code-cell} python\n1 + 1\n```\n\n>>> 1 + 1\n2\n",
    ".txt": "In [1]:\nimport torch\nprint(torch.ones(1))\n\ntensor([1.])\n\n"
    "In [2]:\n%time 1/0\n\nZeroDivisionError: x\n",
}


def note(rng: Random) -> tuple[str, str]:
    if rng.random() < 0.6:
        return "f.ipynb", dumped(document(rng, NOTEBOOK)).decode("utf-8", "replace")
    if rng.random() < 0.2:
        return "f.ipynb", mutate.text(rng, [json.dumps(NOTEBOOK)], ["null", "1", "[]"], 5000)
    suffix = rng.choice(list(NOTES))
    return f"f{suffix}", mutate.text(
        rng, list(NOTES.values()), ["```", ">>>", "In [3]:", "$ gradtrace"]
    )


def run_note(made: tuple[str, str]) -> None:
    """Read the cells, compare their records with some output, and write the note with new outputs."""
    from gradtrace.cli import verifying
    from gradtrace.documents import notes, outputs
    from gradtrace.views import verify as view
    from gradtrace.views.layout import LayoutOptions

    name, text = made
    with suppress(GradtraceError):
        cells = notes.cells(name, text)
        found = []
        for cell in cells:
            compared = outputs.compare(cell.record or "", "tensor(2.)\n", True, True, cell.ellipsis)
            found.append(verifying.Checked(cell, compared.verdict, compared.detail, "1\n"))
        verifying.updated(name, text, found)
        view.text(name, found, LayoutOptions())
        view.render(name, found, "json")


# ---- a folder of parts, and what runs beside


def folder(rng: Random) -> tuple[bytes, bytes, bool]:
    fingerprint = {
        "schema": "gradtrace/fingerprint",
        "version": 1,
        "digest": "0",
        "program": "x",
        "kind": "csv",
    }
    manifest = {"schema": "gradtrace/manifest", "version": 1, "rows": 4, "bad_rows": 1}
    manifest |= {"bad_rows_by_part": {PART: 1}, "parts": [PART]}
    texts = [dumped(document(rng, one)) for one in (fingerprint, manifest)]
    if rng.random() < 0.2:
        texts = [mutate.data(rng, [text]) for text in texts]
    return texts[0], texts[1], rng.random() < 0.8


PART = "part-000000000000-000000000004.csv"


def run_folder(made: tuple[bytes, bytes, bool]) -> None:
    from gradtrace.batch import parts

    fingerprint, manifest, resume = made
    os.makedirs("parts", exist_ok=True)
    Path("parts", PART).write_text("x\n1\n2\n3\n4\n")
    Path("parts", "manifest.json").write_bytes(manifest)
    Path("parts", "fingerprint.json").write_bytes(fingerprint)
    with suppress(GradtraceError):
        parts.Folder("parts").prepare({"program": "x"}, resume)
    Path("parts", "manifest.json").write_bytes(manifest)
    with suppress(GradtraceError):
        parts.Folder("parts").finish(4)


def information(rng: Random) -> bytes:
    board = {"port": 6006, "pid": 1, "start_time": 1, "logdir": "runs", "db": "", "version": "2"}
    content = dumped(document(rng, board))
    return mutate.data(rng, [content]) if rng.random() < 0.2 else content


def run_information(content: bytes) -> None:
    import tempfile
    from contextlib import redirect_stdout
    from io import StringIO

    from gradtrace.views import tensorboard_notebook

    tempfile.tempdir = os.getcwd()
    place = Path(tempfile.gettempdir(), ".tensorboard-info")
    place.mkdir(exist_ok=True)
    (place / "pid-1.info").write_bytes(content)
    printed = StringIO()
    with redirect_stdout(printed):
        tensorboard_notebook.list()
    assert "\x1b" not in printed.getvalue()


def params(rng: Random) -> bytes:
    value = {"x": 2, "w": [1, 2.5, "NaN"], "y": [[1, 2], [3, 4]], "flag": True}
    content = dumped(document(rng, value))
    return mutate.data(rng, [content]) if rng.random() < 0.2 else content


def run_params(content: bytes) -> None:
    Path("p.json").write_bytes(content)
    obey(("eval", "x * w", "--x", "1", "--params", "p.json"))


# ---- capsules


@cache
def capsule_parts() -> dict[str, bytes]:
    import torch

    from gradtrace import torch as gt

    model = torch.nn.Sequential(
        torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2), torch.nn.Dropout(0.5)
    )
    batch = {
        "x": torch.ones(4, 3),
        "y": [1.5, 2, "text", None, True, (torch.zeros(2, dtype=torch.bfloat16),)],
    }
    gt.capsule("seed.gtc", step, model, batch, out=io.StringIO())
    with zipfile.ZipFile("seed.gtc") as file:
        return {name: file.read(name) for name in file.namelist()}


def step(model: Any, batch: Any) -> Any:
    loss = model(batch["x"]).sum()
    loss.backward()
    return loss


def capsule(rng: Random) -> tuple[bytes, bool]:
    """Return the file of a capsule with changes, and whether its step runs; most are only read, which is faster."""
    return archived(rng, dict(capsule_parts())), rng.random() < 0.05


def run_capsule(made: tuple[bytes, bool]) -> None:
    import torch

    from gradtrace import torch as gt
    from gradtrace.torch import capsule_file

    content, runs = made
    Path("f.gtc").write_bytes(content)
    if not runs:
        with suppress(GradtraceError):
            capsule_file.read("f.gtc")
        return
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2), torch.nn.Dropout(0.5)
    )
    with suppress(GradtraceError), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        gt.replay("f.gtc", step, model).text()
    with suppress(GradtraceError), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        gt.replay("f.gtc")


MAKERS: dict[str, tuple[Callable[[Random], Any], Callable[[Any], None]]] = {
    "record": (record, run_record),
    "flight": (flight, run_flight),
    "notes": (note, run_note),
    "parts": (folder, run_folder),
    "boards": (information, run_information),
    "params": (params, run_params),
}
if find_spec("torch") is not None:
    MAKERS["capsule"] = (capsule, run_capsule)
