"""What the playground asks of gradtrace, in Pyodide: a program's page, values, answers and trace, or its error."""

import contextlib
import io
import itertools
import json
import os
import sys

if hasattr(os, "fork"):
    del os.fork  # there are no processes here, nor limits for them
os.environ.update(COLUMNS="88", NO_COLOR="1")
sys.path.insert(0, "/lib/gradtrace")

import viz  # the page's

from gradtrace.cli.main import run
from gradtrace.errors import GradtraceError
from gradtrace.program.parse import parse
from gradtrace.views import image
from gradtrace.views.style import FONT

PAGE = "/page.html"
NUMPY = "numpy is not installed"
ARRAYS = "numbers without `import torch` do without it here; or use gradtrace on your machine"


def drawn(sources: list[str], format: str, **_: object) -> list[bytes]:
    """The pictures of DOT texts, by viz.js."""
    # viz.js knows how wide this font's letters are, but not by a list of names; Verdana's are as wide
    name = FONT.split(",")[0]
    return [
        viz.svg(source.replace(FONT, name))
        .replace(f'font-family="{name}"', f'font-family="{FONT}"')
        .encode()
        for source in sources
    ]


image.render_many = drawn
runs = itertools.count(1)


def command(*arguments: str) -> tuple[int, str, str]:
    """The exit code of a command line, and what it wrote to stdout and stderr."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(list(arguments))
    return code, *(stream.buffer.getvalue().decode() for stream in (out, err))


def answer(text: str, given: str = "{}") -> str:
    """A program's answers as JSON: page, values, why, trace, its free names, the package that it lacks, and its error
    ("" if there is none). `given` has the values of free names, as JSON.
    """
    folder = f"/{next(runs)}"  # a folder for each run: a command line reads a file once
    os.mkdir(folder)
    program = f"{folder}/program.py"
    with open(program, "w", encoding="utf-8") as file:
        file.write(text)
    names = free_names(text)
    known = json.loads(given)
    values = {name: known.get(name, "1") for name in names}
    found = answers(
        program, [part for name, value in values.items() for part in ("--set", f"{name}={value}")]
    )
    shown = {name: written.replace(program, "program.py") for name, written in found.items()}
    needs = "numpy" if NUMPY in shown["error"] else ""
    shown["error"] = shown["error"].replace("pip install numpy", ARRAYS)
    return json.dumps({**shown, "inputs": names, "needs": needs})


def free_names(text: str) -> list[str]:
    """The names that a program leaves free; none of a program that cannot be read."""
    try:
        return [given.name for given in parse(text).inputs if given.is_required]
    except GradtraceError:
        return []


def answers(program: str, values: list[str]) -> dict[str, str]:
    empty = {"page": "", "values": "", "why": "", "trace": "", "error": ""}
    code, table, error = command("eval", program, *values)
    if code:
        return {**empty, "error": error or "the program failed"}
    printed = f"\nprinted:\n{error}" if error else ""
    found = {**empty, "values": table + printed}
    for view in ("why", "trace"):
        found[view] = command(view, program, *values)[1]
    code, _, error = command("page", program, "-o", PAGE, *values)
    if code:
        return {**found, "error": error}
    with open(PAGE, encoding="utf-8") as file:
        return {**found, "page": file.read()}
