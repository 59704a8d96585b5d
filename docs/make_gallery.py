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
SEEDS = "tests/recorded/seeds"
# title, what to see in it, the command without -o, the file, the rows of the acceptance table that it answers
PICTURES = [
    (
        "The graph of every introduction",
        "Tensors by the names of the program, operations on the wires between them, a value and a gradient in each. "
        "Leaf, computed and output differ by shape and border as well as by colour.",
        NOTES,
        "notes.svg",
        "A2 A3",
    ),
    (
        "From the leaves upward",
        "The same as the notes draw it: x and w at the bottom, two edges leave w.",
        f"{NOTES} --direction up",
        "upward.svg",
        "A10",
    ),
    (
        "Local derivatives on the edges",
        "The chain rule, to be read off: from `y` back to `w` over `a` it is 2 · 1, over `b` 3 · 1, together 5. What "
        "flowed through a tensor that does not keep its gradient is shown, and said to have passed.",
        f"{NOTES} --derivatives",
        "derivatives.svg",
        "B5 B3",
    ),
    (
        "Tensors and Functions as nodes",
        "The other convention of the textbooks: an operation is a node as well.",
        f"{NOTES} --style function --retain-graph",
        "functions.svg",
        "A4",
    ),
    (
        "PyTorch's own graph",
        "The nodes that `grad_fn` and `next_functions` lead through, what each of them saved, what it got (upstream), "
        "by what it multiplies (local) and, on the edges, what it sends on.",
        f"{NOTES} --style autograd --derivatives --retain-graph",
        "autograd.svg",
        "",
    ),
    (
        "After backward",
        "The function that had saved something is freed; the two sums saved nothing.",
        f"{NOTES} --style autograd",
        "freed.svg",
        "G3",
    ),
    (
        "What could run at once",
        "A column for each level: `a` and `b` do not wait for one another.",
        f"{NOTES} --levels",
        "levels.svg",
        "A11",
    ),
    (
        "Both edges of a square, and a shared result",
        "`u * u` has two edges.",
        "gradtrace graph examples/shared.txt --x 0.5 --theme dark",
        "shared.svg",
        "",
    ),
    (
        "The derivative's own graph",
        "With `create_graph` the gradient has a history: the graph of the derivative, joined to the one that it is of.",
        'gradtrace graph "x*x*w" --x 3 --w 2 --create-graph',
        "create_graph.svg",
        "D9",
    ),
    (
        "The first NaN",
        "The tensor or gradient where backward met it first is marked.",
        "gradtrace graph examples/nan.txt",
        "nan.svg",
        "",
    ),
    (
        "Operations as edges: subtract, divide, convolve",
        "The wire says what it is: a convolution by its name, with the gradient of its kernel.",
        f"gradtrace graph {SEEDS}/conv_as_edge.py",
        "conv.svg",
        "A6 A8",
    ),
    (
        "A static graph",
        "Built before it runs: operations without values, data entering at the bottom and flowing up.",
        f"gradtrace plan {SEEDS}/note_4_static_while_loop_tf1.py",
        "static.svg",
        "G11 G16",
    ),
    (
        "A recurrent cell",
        "Arrays show their shape, their range and a sparkline; what needs no gradient is dashed.",
        "gradtrace graph examples/recurrent_cell.py",
        "cell.svg",
        "",
    ),
    (
        "The same, as it happens",
        "The graph grows statement by statement, gradients flow back in the engine's own order, and what backward has "
        "freed is dimmed.",
        "gradtrace graph examples/recurrent_cell.py",
        "cell.gif",
        "G6 G7 G2 G3",
    ),
    (
        "A network, folded as far as it needs to be",
        "Six equal blocks are one box with a count; the sparklines are the six values and gradients.",
        "gradtrace graph examples/residual_network.py --color-by grad-norm",
        "network.svg",
        "",
    ),
    (
        "One level less",
        "The modules of the network, with their parameters inside.",
        "gradtrace graph examples/residual_network.py --depth 1",
        "network_depth_1.svg",
        "",
    ),
    (
        "One block opened",
        "",
        "gradtrace graph examples/residual_network.py --depth 1 --expand net.blocks.2 --direction down",
        "network_expanded.svg",
        "",
    ),
]
TEXTS = [
    ("The tree in a terminal", "gradtrace graph examples/notes.txt --x 2 --w 1", "txt", "text"),
    ("Mermaid, for Markdown", "gradtrace graph examples/notes.txt --x 2 --w 1", "mmd", "mermaid"),
]
BESIDE = """## Beside torchviz and torchview

The same expression, `y = (x + w) * (w + 1)`, and the same perceptron of three layers
(`examples/mlp.py`), drawn by torchviz 0.0.3 (`make_dot`), torchview 0.2.7 (`draw_graph`) and here.

```sh
gradtrace graph examples/mlp.py -o mlp.svg
```

![A perceptron of three layers](gallery/mlp.svg)

| | here | torchviz | torchview |
| --- | --- | --- | --- |
| names of the program's variables | all tensors | those that `params=` is given | no |
| values, ranges, sparklines | yes | no | no |
| gradients, and those that passed | yes | no | no |
| shapes | of every tensor | of leaves and the result | in and out of each module |
| operations in a module's code | yes | backward functions only | a module without submodules is one box |
| local derivatives | `--derivatives` | no | no |
| saved tensors | `--style autograd`, with their values | `show_saved=True`, with their shapes | no |
| AccumulateGrad | folded into its leaf; `--autograd-nodes` | a node of its own each | no |
| modules | frames that fold, with their parameters inside | no | boxes, nested with `expand_nested=True` |
| constants (`w + 1`) | on the operation | no | no |
| leaf, computed, output | shape, border, colour, a legend | colour alone, no legend | colour alone, no legend |
| source line | tooltip; the page underlines it | no | no |
| series of equal blocks, loops | folded with a count | no | `roll=True` for a module that is called again |
| formats | SVG, PNG, PDF, DOT, page, animation, Mermaid, JSON, GraphML, text | Graphviz's | Graphviz's |
| needs | nothing else | PyTorch and the program `dot` | PyTorch and the program `dot` |

What the others show in less space: torchview has one box for each layer with the shapes in it, where this picture shows
the operations inside; `--depth 1` comes near to that. torchviz shows nothing but the backward functions, as `--style
autograd` does with values and gradients.
"""
PAGE = ("gradtrace graph examples/residual_network.py", "network.html")


def make(command: str, path: Path) -> None:
    """Runs one command of the gallery, with -o."""
    arguments = [sys.executable, "-m", "gradtrace", *shlex.split(command)[1:], "-o", str(path)]
    subprocess.run(
        arguments, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def main(folder: Path) -> None:
    pictures = folder / "gallery"
    pictures.mkdir(exist_ok=True)
    parts = [HEAD]
    for title, text, command, name, _ in PICTURES:
        make(command, pictures / name)
        parts.append(
            f"## {title}\n\n{text}\n\n```sh\n{command} -o {name}\n```\n\n![{title}](gallery/{name})\n"
        )
    for title, command, suffix, language in TEXTS:
        path = pictures / f"text.{suffix}"
        make(command, path)
        written = path.read_text(encoding="utf-8").rstrip()
        path.unlink()
        parts.append(
            f"## {title}\n\n```sh\n{command} -o graph.{suffix}\n```\n\n```{language}\n{written}\n```\n"
        )
    command, name = PAGE
    make(command, pictures / name)
    parts.append(
        "## The page\n\nOne file that needs nothing else: move about, search, choose a node for its value, gradient, "
        "line and where its gradient comes from, fold and unfold, and play the run forward and backward.\n\n"
        f"```sh\n{command} -o {name}\n```\n\n[Open {name}](gallery/{name}) in a browser.\n"
    )
    make("gradtrace graph examples/mlp.py", pictures / "mlp.svg")
    parts.append(BESIDE)
    (folder / "gallery.md").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs")
