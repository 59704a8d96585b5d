"""The questions of docs/acceptance.md, the command that answers each, and its output as it is today.

`write(out)` runs every command and hands the page's lines to `out` (cogapp calls it from the page).
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent
SEEDS = "tests/recorded/seeds"
NOTES = "tests/recorded/notes"

# numbers of requirements: (heading, what they ask, command, standard input)
ROWS: dict[str, tuple[str, str, str, str]] = {
    "A5 A7": (
        "Add and multiply",
        "Add and multiply by name and by sign.",
        f"gradtrace run {SEEDS}/note_1_all_cells.py",
        "",
    ),
    # cogapp takes the brackets of a four-dimensional tensor for its own: the last lines alone, the rest is a picture
    "A6": (
        "Subtract and divide",
        "Subtract and divide; convolution is among the pictures below.",
        f"gradtrace run {SEEDS}/conv_as_edge.py | tail -1",
        "",
    ),
    "A2 A9": (
        "A formula in parts",
        "The decomposition, each part by its name with value, shape and gradient.",
        "gradtrace eval - --x 2 --w 1",
        "a = x + w\nb = w + 1\ny = a * b\n",
    ),
    "A11 A12 A13 C5": (
        "What a graph costs",
        "What could run at once, on which device, what is computed twice or for nothing, and what keeping every "
        "gradient would cost.",
        'gradtrace stats "(x+w)*(w+1)" --x 2 --w 1',
        "",
    ),
    "A13": (
        "What is computed twice",
        "A sum written out twice is found.",
        'gradtrace stats "(x+w)*(x+w)" --x 2 --w 1',
        "",
    ),
    "B1 B2": (
        "The chain rule in symbols",
        "The derivation in names, then with the numbers put in.",
        'gradtrace paths "(x+w)*(w+1)" --x 2 --w 1 --to w --symbolic text',
        "",
    ),
    "B3 B4": (
        "The chain rule path by path",
        "Every path from the root to a leaf: the factor on each edge, the product, the sum.",
        f"gradtrace paths {SEEDS}/picture_gradient_paths.py --from y",
        "",
    ),
    "B5": (
        "Local derivatives on the edges",
        "The picture with the local derivatives on its edges: what the drawing (`-o g.svg`) writes there.",
        'gradtrace graph "a = x + w; b = w + 1; y = a * b" --x 2 --w 1 --derivatives | grep -o "∂[^<]*"',
        "",
    ),
    "B6": (
        "One gradient as a number",
        "The gradient of the example.",
        'gradtrace eval "(x+w)*(w+1)" --x 2 --w 1 --get w.grad',
        "",
    ),
    "B7 B8 B9 B10 E5 F9 F10 G1 G2": (
        "Forward and backward, step by step",
        "Forward statement by statement, then backward in the engine's order: the root gets 1; upstream, local and "
        "downstream of each; the contributions to x before their sum; the hooks in their order; what is dropped.",
        f"gradtrace trace {SEEDS}/note_5_cell_10_hooks.py",
        "",
    ),
    "C9": (
        "is_leaf and requires_grad",
        "is_leaf and requires_grad are two things.",
        "gradtrace eval - --retain-grad b",
        "import torch\nx = torch.tensor(1.)\nw = torch.tensor(2., requires_grad=True)\nb = x * w\ny = b + 1\n",
    ),
    "D8": (
        "retain_graph and create_graph",
        "After retain_graph a gradient has no grad_fn, after create_graph it has one.",
        f"gradtrace run {SEEDS}/note_3_create_vs_retain.py",
        "",
    ),
    "D8 D9": (
        "The two side by side",
        "The two side by side.",
        "gradtrace run -",
        "import torch\n\ndef gradient(**how):\n    w = torch.tensor([1.], requires_grad=True)\n"
        "    y = (w + 2) * (w + 1)\n    y.backward(**how)\n    return w.grad\n\n"
        "print('retain_graph:', gradient(retain_graph=True), '  create_graph:', gradient(create_graph=True))\n",
    ),
    "D9": (
        "A gradient that can be differentiated",
        "create_graph makes the gradient differentiable: the gradients have a grad_fn of their own.",
        'gradtrace eval "x**2" --x 3 --create-graph',
        "",
    ),
    "D9 (drawn)": (
        "The graph of a derivative",
        "The graph of the derivative is part of the drawing: the gradient with what it was computed from.",
        'gradtrace graph "x**2" --x 3 --create-graph -o "${TMPDIR:-/tmp}/g.txt" && cat "${TMPDIR:-/tmp}/g.txt"',
        "",
    ),
    "D13 D14": (
        "A Jacobian",
        "The Jacobian of four results by five inputs; its rows weighted and added up.",
        'gradtrace jacobian "M @ x" --M "arange(20.).view(4, 5)" --no-grad M --x 1,2,3,4,5 --grad-tensors 1,2,0,-1',
        "",
    ),
    "E8": (
        "The danger of .data",
        "The danger of .data: the gradient is of a changed number, and that is said.",
        "gradtrace why - w",
        "import torch\nw = torch.tensor([3.], requires_grad=True)\ny = w ** 2\nw.data.mul_(10)\ny.backward()\n",
    ),
    "E9": (
        "A saved tensor that was changed",
        "The same without .data is refused; which line saved it, which changed it.",
        "gradtrace why -",
        "import torch\nw = torch.tensor([3.], requires_grad=True)\na = w * 1\ny = a ** 2\na += 1\ny.backward()\n",
    ),
    "F5": (
        "Gradients at a custom Function",
        "Upstream, local and downstream gradient at a Function.",
        f"gradtrace trace {SEEDS}/note_5_cells_4_5_6_myrelu.py --follow y_hat",
        "",
    ),
    "F14": (
        "A Function called without apply",
        "A Function called without apply is plain code: its backward is not used.",
        "gradtrace why - w",
        "import torch\nclass Double(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
        "        return x * 2\n    @staticmethod\n    def backward(ctx, g):\n        return g * 200\n"
        "w = torch.tensor(3., requires_grad=True)\nDouble.forward(None, w).backward()\n",
    ),
    "H4 H5 H6 H7 H8": (
        "TensorBoard in a script",
        "The note's TensorBoard cells, in a folder of their own: one event file with the module's graph; the list of "
        "running viewers. How to open one is said on stderr.",
        f"gradtrace run {SEEDS}/note_5_cells_20_26_24_tensorboard.py --allow-write data",
        "",
    ),
    "H4": (
        "Permission to write files",
        "Without the permission nothing is written; the message names the option.",
        f"gradtrace run {SEEDS}/note_5_cells_20_26_24_tensorboard.py --errors json 2>&1",
        "",
    ),
    "G1": (
        "A prompt",
        "Building and computing at once: at the prompt every line shows its value and its node.",
        "gradtrace repl",
        "w: leaf = 1.0\nx: data = 2\ny = (x + w) * (w + 1)\ny\ny.backward()\nw.grad\ngraph()\n",
    ),
    "G3 D5": (
        "A second backward",
        "backward destroys the graph: a second one fails, and why.",
        "gradtrace why -",
        "import torch\nx = torch.tensor(3., requires_grad=True)\nloss = (x + 1) ** 2\nloss.backward()\n"
        "loss.backward()\n",
    ),
    "G4": (
        "A graph that depends on values",
        "A graph that depends on values: two runs compared.",
        "gradtrace diff - --x 3 --set-b x=6",
        "y = x\nwhile y < 20:\n    y = y * 2\n",
    ),
    "G8 G10": (
        "Built first, run later",
        "Built first, run later: print(y) shows a node without a value; a session runs it.",
        f"gradtrace run {SEEDS}/note_2_cell_6_tf1_static.py",
        "",
    ),
    "G9 G16": (
        "The operations of a static graph",
        "The six operations of that graph and the tensors between them (-o graph.svg draws them, inputs below).",
        f"gradtrace plan {SEEDS}/note_2_cell_6_tf1_static.py",
        "",
    ),
    "G11": (
        "A frozen graph",
        "The frame stays the same while data flow through it: equal in every run, and no change once it is frozen.",
        "gradtrace run - 2>&1",
        "import tensorflow as tf\nx = tf.placeholder(tf.float32, (), 'x')\ny = x * x + 1.\n"
        "graph = tf.get_default_graph()\ngraph.finalize()\nwith tf.Session() as session:\n"
        "    for value in (1., 2., 3.):\n"
        "        print(session.run(y, {x: value}), len(graph.get_operations()))\nz = y * 2.\n",
    ),
    "G12": (
        "Built once, run a thousand times",
        "Run again without building again: the counters.",
        "gradtrace run -",
        "import tensorflow as tf\nx = tf.placeholder(tf.float32, (), 'x')\ny = tf.exp(x) * x\n"
        "with tf.Session() as session:\n    for k in range(1000):\n        session.run(y, {x: k / 1000})\n"
        "    print('built', session.built, 'run', session.runs)\n",
    ),
    "G13": (
        "A loop in a static graph",
        "Python's while is refused while the graph is built; tf.while_loop is a node: 5, 2, 0 passes to 192, 112, 110.",
        f"gradtrace run {SEEDS}/note_4_static_while_loop_tf1.py",
        "",
    ),
    "G13, in a program": (
        "A Python loop cannot be frozen",
        "A Python while on a tensor cannot be frozen into a plan: the line, and what to do.",
        "gradtrace plan - 2>&1",
        "y = x * x\nwhile y < 20:\n    y = y * 2\n",
    ),
    "G14 G15": (
        "Dynamic beside static",
        "The plan, then dynamic and static in two columns (T stands for a time).",
        'gradtrace plan "(x+w)*(w+1)" --x 2 --w 1 --compare --runs 100',
        "",
    ),
    "G17": (
        "Names that count up",
        "A name counts up when its cell is run again.",
        "gradtrace run -",
        "import tensorflow as tf\nfor again in range(5):\n    w, x = tf.constant(1.), tf.constant(2.)\n"
        "    y = tf.multiply(tf.add(w, x), tf.add(w, 1))\n    print(y.name)\n",
    ),
    "G14 G4": (
        "A program without a static side",
        "A graph that depends on values has no static side, and the line that prevents it is named.",
        "gradtrace plan - --x 3 --compare",
        "y = x\nwhile y < 20:\n    y = y * 2\n",
    ),
    "I1 I5 I7": (
        "Check a note",
        "A note in file order, in one namespace: the first note.",
        f"gradtrace verify {NOTES}/note_1_graph_and_dynamic_graph.txt",
        "",
    ),
    "I7": (
        "Cells out of order",
        "Cells out of order and run twice: the fifth note. Its TensorBoard cell runs with --allow-write data.",
        f"gradtrace verify {NOTES}/note_5_function_hooks_tensorboard.txt",
        "",
    ),
    "I2 I3": (
        "Check Markdown",
        "Markdown with front matter and fenced cells: the fourth note.",
        f"gradtrace verify {NOTES}/note_4_blog_graph_static_vs_dynamic.txt",
        "",
    ),
    "I4": (
        "Results after >>>",
        "A result after >>> is not taken for code: the third note.",
        f"gradtrace verify {NOTES}/note_3_leaf_rules_and_autograd_api.txt",
        "",
    ),
    "I6": (
        "The derivation as LaTeX",
        "The derivation as LaTeX.",
        'gradtrace paths "(x+w)*(w+1)" --x 2 --w 1 --to w --symbolic latex',
        "",
    ),
}


def write(out: Callable[[str], object]) -> None:
    for heading, asked, command, given in ROWS.values():
        out(f"## {heading}\n\n{asked}\n")
        shown = f"$ {command}" + (" <<'END'\n" + given + "END" if given else "")
        out(f"```text\n{shown}\n{output(command, given)}\n```\n")
    pictures(out)


def pictures(out: Callable[[str], object]) -> None:
    """The questions that a picture answers: its command and its place in the gallery, which `make_gallery.py` draws."""
    import make_gallery

    out("## Pictures\n\nDrawn by `python docs/make_gallery.py` into the [gallery](gallery.md).\n")
    out("| what to see | command | picture |\n| --- | --- | --- |")
    for title, _, command, name, rows in make_gallery.PICTURES:
        if rows:
            out(f"| {title} | `{command} -o {name}` | [{name}](gallery/{name}) |")
    command, name = make_gallery.PAGE
    out(
        f"| A page to open: modules fold and unfold, a player for both directions | "
        f"`{command} -o {name}` | [{name}](gallery/{name}) |"
    )
    out(
        f"| The graph tab of TensorBoard, modules as boxes | `{command} --tensorboard runs`, then "
        "`tensorboard --logdir runs` | |"
    )


def output(command: str, given: str) -> str:
    """What a command prints, without addresses and times; its exit code if that is not 0."""
    run = command.replace("gradtrace", f"{shlex.quote(sys.executable)} -m gradtrace", 1)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    with tempfile.TemporaryDirectory() as folder:
        place = ROOT
        if (
            "--allow-write" in command
        ):  # beside the project, not into it; and no viewer of this machine is seen
            place = Path(folder)
            (place / "tests").symlink_to(ROOT / "tests")
            environment["TMPDIR"] = folder
        done = subprocess.run(
            run,
            shell=True,
            input=given,
            capture_output=True,
            text=True,
            cwd=place,
            encoding="utf-8",
            env=environment,
        )
    text = re.sub(r"0x[0-9a-f]{6,}", "0xADDR", done.stdout).rstrip()
    text = re.sub(r"  \([\d.e+]+ times as fast\)", "", text)
    text = re.sub(r"[\d.e+]+ (ns|us|ms|s)\b *", lambda found: "T".ljust(len(found[0])), text)
    text = "\n".join(line.rstrip() for line in text.splitlines())
    return text + (f"\n(exit code {done.returncode})" if done.returncode else "")
