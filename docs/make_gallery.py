"""Makes docs/gallery.md and its pictures: python docs/make_gallery.py, from the project's folder."""

import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEAD = """# Gallery

Each picture was made by the command above it. `python docs/make_gallery.py` makes them all again, byte for byte.
"""
NOTES = "gradtrace graph examples/notes.txt --x 2 --w 1"
# title, what to see in it, the command without -o, the file
PICTURES = [
    ("The graph of every introduction",
     "Tensors by the names of the program, operations on the wires between them, a value and a gradient in each. Leaf, "
     "computed and output differ by shape and border as well as by colour.",
     NOTES, "notes.svg"),
    ("Local derivatives on the edges",
     "The chain rule, to be read off: from `y` back to `w` over `a` it is 2 · 1, over `b` 3 · 1, together 5. What "
     "flowed through a tensor that does not keep its gradient is shown, and said to have passed.",
     f"{NOTES} --derivatives", "derivatives.svg"),
    ("Tensors and Functions as nodes",
     "The other convention of the textbooks: an operation is a node as well.",
     f"{NOTES} --style function --retain-graph", "functions.svg"),
    ("PyTorch's own graph",
     "The nodes that `grad_fn` and `next_functions` lead through, what each of them saved, what it got (upstream), by "
     "what it multiplies (local) and, on the edges, what it sends on.",
     f"{NOTES} --style autograd --derivatives --retain-graph", "autograd.svg"),
    ("What could run at once",
     "A column for each level: `a` and `b` do not wait for one another.",
     f"{NOTES} --levels", "levels.svg"),
    ("Both edges of a square, and a shared result",
     "`u * u` has two edges.",
     "gradtrace graph examples/shared.txt --x 0.5 --theme dark", "shared.svg"),
    ("The derivative's own graph",
     "With `create_graph` the gradient has a history: the graph of the derivative, joined to the one that it is of.",
     'gradtrace graph "x*x*w" --x 3 --w 2 --create-graph', "create_graph.svg"),
    ("The first NaN",
     "The tensor or gradient where backward met it first is marked.",
     "gradtrace graph examples/nan.txt", "nan.svg"),
    ("A recurrent cell",
     "Arrays show their shape, their range and a sparkline; what needs no gradient is dashed.",
     "gradtrace graph examples/recurrent_cell.py", "cell.svg"),
    ("The same, as it happens",
     "The graph grows statement by statement, gradients flow back in the engine's own order, and what backward has "
     "freed is dimmed.",
     "gradtrace graph examples/recurrent_cell.py", "cell.gif"),
    ("A network, folded as far as it needs to be",
     "Six equal blocks are one box with a count; the sparklines are the six values and gradients.",
     "gradtrace graph examples/residual_network.py --color-by grad-norm", "network.svg"),
    ("One level less",
     "The modules of the network, with their parameters inside.",
     "gradtrace graph examples/residual_network.py --depth 1", "network_depth_1.svg"),
    ("One block opened", "",
     "gradtrace graph examples/residual_network.py --depth 1 --expand net.blocks.2 --direction down",
     "network_expanded.svg"),
]
TEXTS = [
    ("The tree in a terminal", "gradtrace graph examples/notes.txt --x 2 --w 1", "txt", "text"),
    ("Mermaid, for Markdown", "gradtrace graph examples/notes.txt --x 2 --w 1", "mmd", "mermaid"),
]
PAGE = ("gradtrace graph examples/residual_network.py", "network.html")


def make(command: str, path: Path) -> None:
    """Runs one command of the gallery, with -o."""
    arguments = [sys.executable, "-m", "gradtrace", *shlex.split(command)[1:], "-o", str(path)]
    subprocess.run(arguments, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main(folder: Path) -> None:
    pictures = folder / "gallery"
    pictures.mkdir(exist_ok=True)
    parts = [HEAD]
    for title, text, command, name in PICTURES:
        make(command, pictures / name)
        parts.append(f"## {title}\n\n{text}\n\n```sh\n{command} -o {name}\n```\n\n![{title}](gallery/{name})\n")
    for title, command, suffix, language in TEXTS:
        path = pictures / f"text.{suffix}"
        make(command, path)
        written = path.read_text(encoding="utf-8").rstrip()
        path.unlink()
        parts.append(f"## {title}\n\n```sh\n{command} -o graph.{suffix}\n```\n\n```{language}\n{written}\n```\n")
    command, name = PAGE
    make(command, pictures / name)
    parts.append(
        "## The page\n\nOne file that needs nothing else: move about, search, choose a node for its value, gradient, "
        "line and where its gradient comes from, fold and unfold, and play the run forward and backward.\n\n"
        f"```sh\n{command} -o {name}\n```\n\n[Open {name}](gallery/{name}) in a browser.\n"
    )
    (folder / "gallery.md").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs")
