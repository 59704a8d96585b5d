"""No text that is not gradtrace's own reaches the terminal with characters that control it.

Hostile text stands in every text of a record, of a flight log, of a notebook, in names and in messages; it is shown by
each command in each format, and no control character but line breaks may come out (and gradtrace's own styles, where
colours are asked for).
"""

import json
import re
import zipfile

import pytest

from gradtrace.trace.flight_log import FlightWriter
from gradtrace.views import cells

HOSTILE = "\x1b]0;t\x07\x1b[2J\x1b[8mz\x9b31m\x7f\u202e\u2066\u2028\r\x08\x1b[31m"
PROGRAM = """
import torch

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.name = "HOSTILE"
        return x * x

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 2 * x * g

net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
unused = torch.ones(1, requires_grad=True)
for i in range(2):
    opt.zero_grad()
    loss = Square.apply(net(torch.ones(4, 2))).mean()
    loss.backward()
    opt.step()
END
"""
FORMATS = ("table", "json", "jsonl", "csv", "tsv", "md", "latex")
COMMANDS = (
    *(("why", "r.gt", "--format", format) for format in FORMATS),
    *(("trace", "r.gt", "--format", format) for format in FORMATS),
    *(("stats", "r.gt", "--format", format) for format in FORMATS),
    *(("paths", "r.gt", "--format", format) for format in FORMATS),
    *(("diff", "r.gt", "p.txt", "--x", "1", "--format", format) for format in FORMATS),
    ("eval", "r.gt"),
    ("graph", "r.gt"),
    ("graph", "r.gt", "--style", "autograd"),
    ("graph", "r.gt", "--style", "function", "--all"),
    ("check", "r.gt"),
    ("plan", "r.gt"),
    ("plan", "r.gt", "--compare"),
    ("verify", "r.gt"),
    ("why", "r.gt", "no such name"),
    ("run", "r.gt"),
    ("eval", "r.gt", "--help"),
    ("eval", "r.gt", "--help-all"),
)


def controls(text, styled=False):
    """The characters of a text that a terminal would obey."""
    text = re.sub(cells.STYLE, "", text) if styled else text
    return re.findall(f"[{cells.HARMFUL}\t]", text.replace("\t", ""))


def check(result, styled=False):
    assert controls(result.stdout, styled) == [], (result.exit_code, result.stdout)
    assert controls(result.stderr, styled) == [], (result.exit_code, result.stderr)
    assert result.exit_code in (0, 1, 2), result.stderr


def changed(path, target, change):
    """Write a zip again with a change of its document."""
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    name = next(name for name in parts if name.endswith(".json"))
    document = json.loads(parts[name])
    change(document)
    parts[name] = json.dumps(document).encode()
    with zipfile.ZipFile(target, "w") as file:
        for name, content in parts.items():
            file.writestr(name, content)


def texts_of(value):
    """The places of all texts in a JSON document: (container, key)."""
    pairs = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, one in pairs:
        if isinstance(one, str):
            yield value, key
        else:
            yield from texts_of(one)


@pytest.fixture(params=["", "raise ValueError('HOSTILE')"], ids=["whole", "failed"])
def record(request, gt, here):
    """A record whose texts can be made hostile: `record(numbers)` does that; without numbers to all that may be."""
    (here / "p.txt").write_text("x * x")
    (here / "p.py").write_text(
        PROGRAM.replace("END", request.param).replace("HOSTILE", repr(HOSTILE)[1:-1])
    )
    gt("run", "p.py", "-o", "whole.gt")
    count = 0

    def poison(chosen):
        def change(document):
            nonlocal count
            places = [
                place for place in texts_of(document) if place[1] not in ("schema", "random_state")
            ]
            count = len(places)
            for number, (container, key) in enumerate(places):
                if number in chosen:
                    container[key] += HOSTILE

        changed("whole.gt", "r.gt", change)

    poison(())
    assert count > 60
    accepted = []
    for number in range(count):
        poison((number,))
        result = gt("stats", "r.gt")
        check(result)
        if result.exit_code != 2:
            accepted.append(number)
    assert len(accepted) > count / 2
    poison(accepted)


@pytest.mark.slow
@pytest.mark.parametrize("color", ["never", "always"])
def test_every_text_of_a_record(color, record, gt):
    for command in COMMANDS:
        check(gt(*command, "--color", color), styled=color == "always")


SUFFIXES = ("txt", "dot", "mmd", "graphml", "json", "svg", "html")


@pytest.mark.slow
def test_every_text_of_a_record_in_a_file(record, gt, here):
    for suffix in SUFFIXES:
        check(gt("graph", "r.gt", "-o", f"g.{suffix}"))
        written = here / f"g.{suffix}"
        assert not written.exists() or controls(written.read_text("utf-8")) == [], suffix


def test_names_and_messages(gt, here):
    (here / f"{HOSTILE}.py").write_text(
        "import torch\ntorch.ones(1, requires_grad=True).sum()\n1/0\n"
    )
    (here / f"{HOSTILE}.txt").write_text("x * (")
    (here / f"{HOSTILE}.ipynb").write_text("{}")
    (here / "w.py").write_text(f"import warnings\nwarnings.warn({HOSTILE!r})\n")
    for command in ("run", "why", "stats", "trace", "graph", "eval", "verify", "check"):
        for suffix in ("py", "txt", "ipynb", "none"):
            check(gt(command, f"./{HOSTILE}.{suffix}"))
    check(gt("run", "w.py"))
    check(gt(HOSTILE))
    check(gt("eval", HOSTILE))
    check(gt("eval", "x", f"--{HOSTILE}", "1"))
    check(gt("eval", "x", "--x", HOSTILE))
    check(gt("eval", "x", "--x", f"@{HOSTILE}"))
    (here / "t.csv").write_text(f'x,"{HOSTILE}"\n"{HOSTILE}",1\n')
    check(gt("map", "x*x", "--data", "t.csv", "--keep", "all"))
    check(gt("map", "x*w", "--data", "t.csv"))


def test_notebooks(gt, here):
    cell = {
        "cell_type": "code",
        "execution_count": HOSTILE,
        "metadata": {"name": HOSTILE},
        "id": HOSTILE,
        "source": f"%%gradtrace eval x*x --x 2\n{HOSTILE}",
        "outputs": [
            {"output_type": "stream", "name": HOSTILE, "text": HOSTILE},
            {
                "output_type": "execute_result",
                "execution_count": HOSTILE,
                "data": {"text/plain": HOSTILE},
            },
            {"output_type": "error", "ename": HOSTILE, "evalue": HOSTILE, "traceback": [HOSTILE]},
        ],
    }
    cells_of_it = [
        cell,
        {**cell, "source": "1 + 1"},
        {**cell, "source": f"raise ValueError({HOSTILE!r})"},
    ]
    book = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": HOSTILE}},
        "cells": cells_of_it,
    }
    (here / "n.ipynb").write_text(json.dumps(book))
    for format in ("table", "json"):
        check(gt("verify", "n.ipynb", "--format", format))
    text = f"# {HOSTILE}\n\n```python\nprint({HOSTILE!r})\n```\n\n```\n{HOSTILE}\n```\n\n$ gradtrace eval {HOSTILE}\n"
    (here / "n.md").write_text(text)
    check(gt("verify", "n.md"))


def test_flight_logs(gt, here):
    writer = FlightWriter(here / "f.gtlog", ("time", f"loss{HOSTILE}"), 10)
    for step in range(5):
        writer.append(step, [[1.0 * step, float("nan") if step == 3 else 1.0]])
    for format in ("table", "json", "csv", "md"):
        check(gt("stats", "f.gtlog", "--format", format))


def test_the_escapes_are_valid_in_json():
    text = json.dumps({"a": HOSTILE}, ensure_ascii=False)
    assert json.loads(cells.harmless(text)) == {"a": HOSTILE}
    assert cells.harmless("plain\ttext\n") == "plain\ttext\n"
    assert cells.harmless("\x1b[31mred\x1b[0m", styled=True) == "\x1b[31mred\x1b[0m"
    assert cells.harmless("\x1b[31mred\x1b[8m", styled=True) == "\x1b[31mred\\u001b[8m"
