"""Each hint that names an option is followed, one after another, until none is left: every one must work."""

import re

import pytest

LOOP = """
import torch
w = torch.tensor(1.0, requires_grad=True)
for i in range(3):
    loss = (w - 3) ** 2
    loss.backward()
    w = (w - 0.1 * w.grad).detach().requires_grad_()
"""
NOTES = """
import torch
x = torch.tensor(2.0, requires_grad=True)
w = torch.tensor(1.0, requires_grad=True)
a = x + w
b = w + 1
y = a * b
y.backward()
"""
KEPT = NOTES.replace("backward()", "backward(retain_graph=True)")
FREED = NOTES.replace("y.backward()", "g = torch.autograd.grad(y, x)\ny")
VECTOR = "import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 2\n"
UNUSED = "import torch\nx = torch.ones(2, requires_grad=True)\ny = x.detach() * 2\n"
HOOKED = NOTES.replace("y.backward()", "a.register_hook(lambda g: None)\ny.backward()")

# name: (the program, or "" for an expression; the arguments)
SOURCES = {
    "notes": (NOTES, ["p.py"]),
    "notes, a gradient asked for": (NOTES, ["p.py", "--retain-grad", "a"]),
    "notes, backward again": (NOTES, ["p.py", "--backward", "1"]),
    "notes, every option": (
        NOTES,
        ["p.py", "--retain-grad", "a", "--create-graph", "--grad-tensors", "1", "--zero-grad"],
    ),
    "a graph that is kept": (KEPT, ["p.py", "--backward", "1"]),
    "a gradient of a graph that is kept": (KEPT, ["p.py", "--backward", "1", "--retain-grad", "a"]),
    "freed by autograd.grad": (FREED, ["p.py"]),
    "hooks": (HOOKED, ["p.py"]),
    "a training loop": (LOOP, ["p.py"]),
    "a training loop, backward again": (LOOP, ["p.py", "--backward", "2"]),
    "a script's vector": (VECTOR, ["p.py"]),
    "a script that is cut": (UNUSED, ["p.py"]),
    "a script that is cut, backward": (UNUSED, ["p.py", "--backward", "1"]),
    "an expression": ("", ["(x + w) * (w + 1)", "--x", "2", "--w", "1"]),
    "an expression's vector": ("", ["x * 2", "--x", "1,2"]),
    "a vector's value": ("", ["x * 2", "--x", "1,2", "--get", "root"]),
    "twice": ("", ["x * x", "--x", "2", "--backward", "2"]),
    "nothing requires grad": ("", ["x * 2", "--x", "2", "--no-grad", "x", "--backward", "1"]),
    "nothing requires grad, options": ("", ["x * 2", "--x", "2", "--no-grad", "x", "--zero-grad"]),
    "a gradient that cannot be": (
        "",
        ["(x * x).sum() * w", "--x", "1,2", "--w", "3", "--no-grad", "x", "--retain-grad", "x"],
    ),
    "the wrong inputs": ("", ["x * w", "--x", "1", "--w", "2", "--no-grad", "x", "--inputs", "x"]),
    "a vector of another shape": ("", ["x * 2", "--x", "1,2", "--grad-tensors", "1"]),
    "two outputs": ("", ["(x * 2, w.detach())", "--x", "1", "--w", "3"]),
    "a pair": ("", ["max(x * 2, 0)", "--x", "1,2"]),
    "without backward": ("", ["x * w", "--x", "1", "--w", "2", "--no-backward"]),
}
OPTION = re.compile(r"--(?!no-grad\b|inputs\b)[a-z-]+")
VALUES = {"--retain-grad": "all", "--grad-tensors": "1,1", "--backward": "1"}


def offered(done, args):
    """Return the options that a command line's messages and footnotes offer, but for those that it names as given."""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("    ")]
    notes = [line for line in done.stdout.splitlines() if line[:1] in tuple("¹²³⁴")]
    found = OPTION.findall("\n".join(line.split(" no effect")[-1] for line in (*lines, *notes)))
    return [option for option in dict.fromkeys(found) if option not in args]


def followed(process, args, depth=4):
    """Follow each offered option to its end; return the command lines that still fail there."""
    done = process("eval", *args)
    assert "Traceback" not in done.stderr
    options = offered(done, args)
    if not options:
        return [] if done.returncode == 0 else [(args, done.stderr)]
    assert depth, f"the hints do not end: {args}"
    failing = []
    for option in options:
        more = [option, VALUES[option]] if option in VALUES else [option]
        failing += followed(process, [*args, *more], depth - 1)
    return failing


@pytest.mark.parametrize("name", SOURCES)
def test_every_hint_that_names_an_option_works(process, here, name):
    text, args = SOURCES[name]
    (here / "p.py").write_text(text)
    assert followed(process, args) == []


def test_why_names_the_option_where_it_works(process, here):
    (here / "p.py").write_text(NOTES)
    assert "a.retain_grad() before backward\n" in process("why", "p.py", "a").stdout
    words = ["a = x + w; y = a * w", "a", "--x", "2", "--w", "1"]
    assert "a.retain_grad() before backward (--retain-grad a)" in process("why", *words).stdout
