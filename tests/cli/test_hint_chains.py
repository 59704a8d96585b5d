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
OPTION = re.compile(r"--(?!inputs\b)[a-z-]+")
LEFT_OUT = re.compile(r"[Ll]eave out (--[a-z-]+)")
VALUES = {"--retain-grad": "all", "--grad-tensors": "1,1", "--backward": "1", "--no-grad": "x"}
COMMANDS = ("eval", "jacobian", "hessian", "check", "paths", "plan", "stats", "trace")


def offered(done, args):
    """Return the options that a command line's messages and footnotes offer, but for those that it names as given."""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("    ")]
    notes = [line for line in done.stdout.splitlines() if line[:1] in tuple("¹²³⁴")]
    found = OPTION.findall("\n".join(line.split(" no effect")[-1] for line in (*lines, *notes)))
    return [option for option in dict.fromkeys(found) if option not in args]


def without(option, args):
    """Return the arguments without an option and its value."""
    at = args.index(option)
    has_value = at + 1 < len(args) and not args[at + 1].startswith("--")
    return [*args[:at], *args[at + 1 + has_value :]]


def followed(process, command, args, depth=5, before=""):
    """Follow each offered option to its end; return the command lines whose message is still the same, or that
    advise an option that they do not have.
    """
    done = process(command, *args)
    assert "Traceback" not in done.stderr
    message = done.stderr.partition("\n")[0]
    if done.returncode and message == before:
        return [(args, message)]
    left_out = LEFT_OUT.findall(done.stderr)
    if wrong := [option for option in left_out if option not in args]:
        return [(args, wrong)]
    steps = [without(option, args) for option in left_out]
    for option in offered(done, args):
        steps.append([*args, option, VALUES[option]] if option in VALUES else [*args, option])
    if not steps and command == "eval" and done.returncode:
        return [(args, done.stderr)]
    assert depth or not steps, f"the hints do not end: {args}"
    return [end for step in steps for end in followed(process, command, step, depth - 1, message)]


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_hint_that_names_an_option_works(process, here, command, name):
    text, args = SOURCES[name]
    (here / "p.py").write_text(text)
    if command != "eval" and "no such option" in process(command, *args).stderr:
        pytest.skip("the command does not have the options of this source")
    assert followed(process, command, args) == []


@pytest.mark.parametrize("command", ["jacobian", "hessian", "check", "paths"])
def test_an_option_that_was_not_given_is_not_to_be_left_out(process, here, command):
    (here / "p.py").write_text("import torch\nx = torch.ones(2)\ny = (x * 2).sum()\n")
    done = process(command, "p.py")
    assert done.returncode == 2
    assert "make a leaf with requires_grad=True\n" in done.stderr
    done = process(command, "x * 2", "--x", "2", "--no-grad", "x")
    assert "leave out --no-grad\n" in done.stderr or command == "paths"


def test_a_hessian_names_an_output_that_can_be_chosen(process, here):
    text = "import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 2\nz = y.sum()\n(y, z)\n"
    (here / "p.py").write_text(text)
    assert "choose one with --output z" in process("hessian", "p.py").stderr
    assert process("hessian", "p.py", "--output", "z").returncode == 0
    assert "--output" not in process("hessian", "x * 2", "--x", "1,2").stderr


def test_why_names_the_option_where_it_works(process, here):
    (here / "p.py").write_text(NOTES)
    assert "a.retain_grad() before backward\n" in process("why", "p.py", "a").stdout
    words = ["a = x + w; y = a * w", "a", "--x", "2", "--w", "1"]
    assert "a.retain_grad() before backward (--retain-grad a)" in process("why", *words).stdout
