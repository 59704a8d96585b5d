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
from gradtrace.views import image
from gradtrace.views.style import FONT

PAGE = "/page.html"
ARRAYS = "\nArrays need numpy, which is not a part of this page: use numbers here, or gradtrace on your machine."


def drawn(sources: list[str], format: str, **_: object) -> list[bytes]:
    """The pictures of DOT texts, by viz.js."""
    # viz.js knows how wide this font's letters are, but not by a list of names; Verdana's are as wide
    name = FONT.split(",")[0]
    return [
        viz.svg(source.replace(FONT, name)).replace(f'font-family="{name}"', f'font-family="{FONT}"').encode()
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


def answer(text: str) -> str:
    """A program's answers as JSON: page, values, why, trace, and its error ("" if there is none)."""
    folder = f"/{next(runs)}"  # a folder for each run: a command line reads a file once
    os.mkdir(folder)
    program = f"{folder}/program.py"
    with open(program, "w", encoding="utf-8") as file:
        file.write(text)
    found = answers(program)
    return json.dumps({name: written.replace(program, "program.py") for name, written in found.items()})


def answers(program: str) -> dict[str, str]:
    code, values, error = command("eval", program)
    if code:
        if "numpy" in error:
            error += ARRAYS
        return {"error": error or "the program failed", "page": "", "values": "", "why": "", "trace": ""}
    printed = f"\nprinted:\n{error}" if error else ""
    found = {"values": values + printed, "error": ""}
    for view in ("why", "trace"):
        found[view] = command(view, program)[1]
    code, _, error = command("graph", program, "-o", PAGE)
    if code:
        return {**found, "page": "", "error": error}
    with open(PAGE, encoding="utf-8") as file:
        return {**found, "page": file.read()}
