"""Each way in which the command line runs a stranger's program."""

from __future__ import annotations

from pathlib import Path

PROGRAM = "import torch\nw = torch.tensor(1.0, requires_grad=True)\ny = (w + 2) * w\ny.backward()\n"
FAILING = "import torch\nw = torch.ones(2, requires_grad=True)\ny = w.exp()\ny.add_(1)\ny.sum().backward()\n"
EXPRESSION = "w: leaf = 1.0\n(w + 2) * w\n"
ROWS = f"{EXPRESSION}x*x\n"
COMMANDS = {
    "run": ("run", "p.py"),
    "run, writing": ("run", "p.py", "--allow-write", "elsewhere-made"),
    "eval": ("eval", "e.txt"),
    "why": ("why", "p.py", "w"),
    "stats": ("stats", "p.py"),
    "trace": ("trace", "p.py"),
    "paths": ("paths", "e.txt"),
    "check": ("check", "e.txt"),
    "jacobian": ("jacobian", "e.txt"),
    "hessian": ("hessian", "e.txt"),
    "diff": ("diff", "p.py", "e.txt"),
    "verify": ("verify", "n.md"),
    "plan": ("plan", "e.txt"),
    "map": ("map", "m.txt", "--grid", "x=0:1:5"),
    "repl": ("repl",),
}
# These run a program in other ways than the command alone.
MORE = {
    "graph": ("graph", "e.txt"),
    "plan compared": ("plan", "e.txt", "--compare", "--runs", "2"),
    "page": ("page", "e.txt", "-o", "g.html"),
    "diff as svg": ("diff", "p.py", "e.txt", "-o", "g.svg"),
    "jacobian as npz": ("jacobian", "e.txt", "-o", "g.npz"),
    "embedded page": ("page", "p.py", "--embed", "-o", "g.html"),
    "stdin": ("run", "-"),
    "a failing program": ("run", "f.py"),
    "trials": ("why", "f.py"),
    "precision": ("eval", "e.txt", "--precision"),
    "record": ("run", "p.py", "-o", "g.gt"),
    "check of a record": ("check", "r.gt"),
    "trials of a record": ("why", "r.gt"),
    "folder of parts": ("map", "m.txt", "--grid", "x=0:1:5", "-o", "parts/"),
    "notebook": ("verify", "n.ipynb"),
    "console of a document": ("verify", "c.md", "--allow-read", "p.py"),
    "module": ("run", "i.py", "--allow-import", "modules"),
}
PICTURES = (
    "svg",
    "png",
    "pdf",
    "html",
    "gif",
    "apng",
    "webp",
    "dot",
    "mmd",
    "json",
    "graphml",
    "txt",
    "gt",
)


def drawing(suffix: str) -> tuple[str, ...]:
    """Return the command line that draws a graph in a format."""
    return ("graph", "e.txt", "-o", f"g.{suffix}")


def write_sources(folder: Path, before: str) -> None:
    """Write the files that the commands read, each with the text `before` at its start."""
    for name, text in (
        ("p.py", PROGRAM),
        ("e.txt", EXPRESSION),
        ("m.txt", ROWS),
        ("f.py", FAILING),
    ):
        (folder / name).write_text(before + text)
    (folder / "n.md").write_text(f"```python\n{before}```\n")
