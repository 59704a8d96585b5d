"""torchviz and graphviz in programs: drawn without another process, written where the program may write."""

import os
import subprocess
import sys

import pytest

VIZ = """
import torch
from torchviz import make_dot
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
y = model(torch.randn(1, 8))
dot = make_dot(y.mean(), params=dict(model.named_parameters()), show_attrs=True, show_saved=True)
dot.attr(label="A network")
print(type(dot).__name__, all(name in dot.source for name in ("MeanBackward0", "0.weight", "A network")))
dot.render("net", format="png", view=True)
"""
GRAPH = """
import torch
from graphviz import Digraph
x = torch.tensor(2.0, requires_grad=True)
y = x * x
dot = Digraph()
def add(fn):
    dot.node(str(id(fn)), type(fn).__name__)
    for nearer, _ in fn.next_functions:
        if nearer is not None:
            dot.edge(str(id(nearer)), str(id(fn)))
            add(nearer)
add(y.grad_fn)
print(b"MulBackward0" in dot.pipe(format="svg"), "<svg" in dot.pipe(format="svg", encoding="utf-8"))
print(dot.render("g", format="svg"), dot.render(outfile="h.pdf"))
"""
NOT_WRITTEN = "figures are not written; --allow-write DIR names the folder for them"
OWN = "torchviz is not installed: make_dot gives gradtrace's picture of autograd's graph"


@pytest.fixture
def run(tmp_path):
    """run(text, word, ...) -> the CompletedProcess of `gradtrace run` on a program in an empty folder."""

    def process(text, *words):
        (tmp_path / "p.py").write_text(text)
        command = [sys.executable, "-m", "gradtrace", "run", "p.py", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    return process


def test_make_dot_without_torchviz(run, tmp_path):
    try:
        import torchviz  # noqa: F401
    except ImportError:
        pass
    else:
        pytest.skip("torchviz is installed")
    done = run(VIZ, "--allow-write", ".")
    assert (done.returncode, done.stdout) == (0, "Digraph True\n"), done.stderr
    assert done.stderr.splitlines() == [
        f"p.py: {OWN}",
        "p.py: figures are not opened: a program starts no viewer",
    ]
    assert (tmp_path / "net.png").read_bytes().startswith(b"\x89PNG")
    done = run(VIZ.replace('"net"', '"other"'))
    assert (done.returncode, done.stdout) == (0, "Digraph True\n"), done.stderr
    assert done.stderr.splitlines() == [f"p.py: {OWN}", f"p.py: {NOT_WRITTEN}"]
    assert not (tmp_path / "other.png").exists()


def test_make_dot_without_the_package_graphviz(tmp_path):
    """Nothing announces a picture that cannot be made."""
    (tmp_path / "p.py").write_text(VIZ)
    (tmp_path / "without.py").write_text(
        "import sys\nsys.modules.update(graphviz=None)\nsys.path.insert(0, sys.argv.pop(1))\n"
        "from gradtrace.cli.main import run\nsys.exit(run(sys.argv[1:]))\n"
    )
    done = subprocess.run(
        [sys.executable, "without.py", os.getcwd(), "run", "p.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        "graphviz is not installed: graphs made by make_dot need it; pip install graphviz"
        in done.stderr
    )
    assert OWN not in done.stderr and "--allow-import" not in done.stderr


def test_make_dot_of_several_tensors(run):
    text = VIZ.replace("y.mean(), params", "(y.mean(), y.exp()), params").split("dot.render")[0]
    done = run(text + "print('ExpBackward0' in dot.source)\n")
    assert done.stdout == "Digraph True\nTrue\n", done.stderr


def test_a_graph_of_the_package_graphviz(run, tmp_path):
    done = run(GRAPH, "--allow-write", ".")
    assert (done.stdout, done.stderr) == ("True True\ng.svg h.pdf\n", "")
    assert "MulBackward0" in (tmp_path / "g.svg").read_text()
    assert (tmp_path / "h.pdf").read_bytes().startswith(b"%PDF")
    done = run(GRAPH.replace('"g"', '"k"'))
    assert done.stdout == "True True\nNone None\n"
    assert done.stderr == f"p.py: {NOT_WRITTEN}\n"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("engine='neato'", "graphviz's engine neato is not available; use dot"),
        ("format='gif'", "unknown picture format 'gif'; use one of: svg, png, pdf"),
    ],
)
def test_what_is_not_drawn_is_said(run, change, said):
    text = f"from graphviz import Digraph\nDigraph({change}, body=['a -> b']).pipe()\n"
    done = run(text)
    assert done.returncode != 0 and "Traceback" not in done.stderr
    assert done.stderr.startswith(f"p.py:2:1: {said}")


def test_saved_values_are_listed_where_they_are(run):
    text = (
        "import torch\nx = torch.ones(2, requires_grad=True)\n"
        "for y in (x * x, x.mean(), x.tanh(), x.exp(), torch.linalg.svdvals(x.diag())):\n"
        "    fn = y.grad_fn\n"
        "    for name in dir(fn):\n"
        "        if name.startswith('_saved_'):\n"
        "            getattr(fn, name)\n"
        "    print(type(fn).__name__, '_saved_result' in dir(fn))\n"
    )
    assert run(text).stdout.split() == [
        *("MulBackward0", "False", "MeanBackward0", "False"),
        *("TanhBackward0", "True", "ExpBackward0", "True", "LinalgSvdBackward0", "False"),
    ]


def test_a_note_draws_with_make_dot(tmp_path):
    pytest.importorskip("graphviz")
    lines = VIZ.split("print(type")[0] + "dot"
    record = "<graphviz.graphs.Digraph at 0x7f0000000000>"
    text = f"```python{lines}\n```\n\n```\n{record}\n```\n"
    (tmp_path / "n.md").write_text(text)
    command = [sys.executable, "-m", "gradtrace", "verify", "n.md"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.endswith("n.md: 1 addresses\n"), done.stdout
