"""Every option of every command has a help text and does something.

`test_limits` tries the limits, `test_permission` --allow-write, `test_reading` --allow-read,
`test_broker` --require-wall.
"""

import numpy as np
import pytest

from gradtrace.cli.commands import GROUPS
from gradtrace.cli.group import COMMANDS, cli
from gradtrace.limits import LIMITS
from gradtrace.trace.flight_log import FlightWriter

NOTES = ("(x+w)*(w+1)", "--x", "2", "--w", "1")
LOOP = "y = x\nfor i in range(60):\n    y = y + x * i\n"

# option: (the command without it, what is added); the two differ in what they say or in their exit code
TRAIN = """import torch
w = torch.ones(2, requires_grad=True)
for i in range(3):
    (w * w).sum().backward()
    with torch.no_grad():
        w -= w.grad
    w.grad = None
"""
MANY = """import torch
leaves = [torch.ones(1, requires_grad=True) for i in range(31)]
sum(leaves).backward()
"""
SHARED = {
    "-e": (("--x", "1"), ("-e", "x*2")),
    "--set": (("x*2", "--x", "1"), ("--set", "x=3", "--x", "3")),
    "--params": (("w*2",), ("--params", "p.json")),
    "--no-grad": (NOTES, ("--no-grad", "w")),
    "--dtype": (NOTES, ("--dtype", "float32")),
    "--seed": (("randn(2).sum()", "--seed", "1"), ("--seed", "2")),
    "--errors": (("x*",), ("--errors", "json")),
    "--color": (("x*",), ("--color", "always")),
    "--debug": (("x*",), ("--debug",)),
}
MODEL = """import torch
net = torch.nn.Linear(2, 1)
net(torch.ones(3, 2)).sum().backward()
"""
STEP = (
    "import torch; w = torch.ones(2, requires_grad=True); opt = torch.optim.SGD([w], lr=0.1); "
    "loss = (w * w).sum(); loss.backward(); opt.step()"
)
BACKWARD = {
    "--output": (("loop.txt", "--x", "1"), ("--output", "x")),
    "--backward": (("x+1", "--x", "1"), ("--backward", "3")),
    "--no-backward": (NOTES, ("--no-backward",)),
    "--retain-graph": ((*NOTES, "--backward", "2"), ("--retain-graph",)),
    "--create-graph": (NOTES, ("--create-graph",)),
    "--grad-tensors": (NOTES, ("--grad-tensors", "2")),
    "--inputs": (NOTES, ("--inputs", "w")),
    "--retain-grad": (NOTES, ("--retain-grad", "all")),
    "--zero-grad": ((*NOTES, "--backward", "2", "--retain-graph"), ("--zero-grad",)),
}
LOOP_PART = {
    "--step": (("train.py",), ("--step", "1")),
    "--pass": (("train.py",), ("--pass", "1")),
}
MATRICES = {
    "--wrt": (NOTES, ("--wrt", "x")),
    "--output": (("y = x*x\nz = y*x\nz", "--x", "1"), ("--output", "y")),
    "-o": (NOTES, ("-o", "m.npz")),
    "--set": (("x*x", "--x", "1"), ("--set", "x=3", "--x", "3")),
    "--dtype": (("x/3", "--x", "1", "--format", "json"), ("--dtype", "float32")),
    "--seed": (("(x*randn(2)).sum()", "--x", "1", "--seed", "1"), ("--seed", "2")),
}
# a plan shows no values, and has no random numbers: these options' values are read all the same
STATIC = {
    "--set": (("x*2", "--x", "1"), ("--set", "v=3")),
    "--params": (("w*2", "--w", "1"), ("--params", "nowhere.json")),
    "--seed": (NOTES, ("--seed", "none")),
}
OWN = {
    "eval": {
        **BACKWARD,
        **LOOP_PART,
        "--format": (NOTES, ("--format", "csv")),
        "--get": (NOTES, ("--get", "w.grad")),
        "--all": (("loop.txt", "--x", "1"), ("--all",)),
        "--columns": (NOTES, ("--columns", "name,grad")),
        "--sort": (NOTES, ("--sort", "-value")),
        "--only": (NOTES, ("--only", "leaf")),
        "--precision": (NOTES, ("--precision",)),
    },
    "graph": {
        **BACKWARD,
        **LOOP_PART,
        "-o": (NOTES, ("-o", "g.svg")),
        "--style": (NOTES, ("--style", "autograd")),
        "--theme": (NOTES, ("--theme", "dark")),
        "--direction": (NOTES, ("--direction", "up")),
        "--fit": (
            ("sin(exp(sin(exp(sin(exp(sin(exp(sin(exp(x))))))))))", "--x", "1"),
            ("--fit", "none"),
        ),
        "--simple": (NOTES, ("--simple",)),
        "--detail": (NOTES, ("--detail",)),
        "--no-legend": (NOTES, ("--no-legend",)),
        "--no-values": (NOTES, ("--no-values",)),
        "--no-gradients": (NOTES, ("--no-gradients",)),
        "--autograd-nodes": (NOTES, ("--autograd-nodes",)),
        "--derivatives": (NOTES, ("--derivatives",)),
        "--levels": (NOTES, ("--levels",)),
        "--color-by": (NOTES, ("--color-by", "grad-norm")),
        "--depth": (("loop.txt", "--x", "1"), ("--depth", "all")),
        "--expand": (("loop.txt", "--x", "1"), ("--expand", "all")),
        "--tensorboard": (NOTES, ("--tensorboard", "runs")),
        "--dpi": ((*NOTES, "-o", "/dev/stdout.png"), ("--dpi", "0")),
        "--speed": ((*NOTES, "-o", "/dev/stdout.gif"), ("--speed", "0")),
        "--size": ((*NOTES, "-o", "g.gif"), ("--size", "64x64")),
        "--open": (NOTES, ("--open",)),
    },
    "page": {
        **BACKWARD,
        **LOOP_PART,
        "-o": (NOTES, ("-o", "p.html")),
        "--predict": (NOTES, ("--predict", "gradients")),
        "--embed": (NOTES, ("--embed",)),
        "--style": (NOTES, ("--style", "autograd")),
        "--direction": (NOTES, ("--direction", "up")),
        "--fit": (
            ("sin(exp(sin(exp(sin(exp(sin(exp(sin(exp(x))))))))))", "--x", "1"),
            ("--fit", "none"),
        ),
        "--derivatives": (NOTES, ("--derivatives",)),
        "--depth": (("loop.txt", "--x", "1"), ("--depth", "all")),
        "--expand": (("loop.txt", "--x", "1"), ("--expand", "all")),
        "--open": (NOTES, ("--open",)),
    },
    "paths": {
        **BACKWARD,
        "--format": (NOTES, ("--format", "csv")),
        "--from": (NOTES, ("--from", "x+w")),
        "--to": (NOTES, ("--to", "x")),
        "--element": (("(x*x).sum()", "--x", "1,2"), ("--element", "0")),
        "--max": (NOTES, ("--max", "1")),
        "--symbolic": (NOTES, ("--symbolic", "text")),
        "--set": (("x*x", "--x", "1"), ("--set", "x=3", "--x", "3")),
        "--dtype": (("x/3", "--x", "1", "--format", "json"), ("--dtype", "float32")),
        "--seed": (("(x*randn(2)).sum()", "--x", "1", "--seed", "1"), ("--seed", "2")),
        "--backward": (NOTES, ("--backward", "3")),
        "--retain-grad": (NOTES, ("--retain-grad", "v")),
        "--create-graph": ((*NOTES, "--backward", "2"), ("--create-graph",)),
        "--zero-grad": (NOTES, ("--zero-grad", "--no-backward")),
    },
    "jacobian": {
        **MATRICES,
        "--format": (NOTES, ("--format", "csv")),
        "--grad-tensors": (NOTES, ("--grad-tensors", "2")),
        "--all": (("x*x", "--x", "ones(21)"), ("--all",)),
    },
    "hessian": {
        **MATRICES,
        "--format": (NOTES, ("--format", "csv")),
        "--all": (("(x**3).sum()", "--x", "ones(21)"), ("--all",)),
        "--set": (("x**3", "--x", "1"), ("--set", "x=3", "--x", "3")),
        "--dtype": (("x**3/3", "--x", "1.1", "--format", "json"), ("--dtype", "float32")),
        "--seed": (("(x*x*randn(2)).sum()", "--x", "1", "--seed", "1"), ("--seed", "2")),
    },
    "run": {
        "-o": (("script",), ("-o", "run.gt")),
        "--precision": (("script", "-o", "run.gt"), ("--precision",)),
    },
    "trace": {
        **BACKWARD,
        **LOOP_PART,
        "--format": (NOTES, ("--format", "csv")),
        "--follow": (NOTES, ("--follow", "x")),
    },
    "ledger": {
        **BACKWARD,
        **LOOP_PART,
        "--format": (NOTES, ("--format", "csv")),
        "--all": (("many.py",), ("--all",)),
        "--dtype": (("x/3", "--x", "1", "--format", "json"), ("--dtype", "float32")),
        "--seed": (("w*randn(2).sum()", "--w", "1", "--seed", "1"), ("--seed", "2")),
        "--set": (("x*x", "--x", "1"), ("--set", "x=3", "--x", "3")),
        "--retain-grad": (NOTES, ("--retain-grad", "nothing")),
        "--create-graph": ((*NOTES, "--backward", "2"), ("--create-graph",)),
    },
    "stats": {
        **BACKWARD,
        **LOOP_PART,
        "--format": (NOTES, ("--format", "csv")),
        "--all": (("loop.txt", "--x", "1"), ("--all",)),
        "--anomaly": (NOTES, ("--anomaly",)),
        "--summary": (NOTES, ("--summary",)),
        "-o": (("steps.gtlog",), ("-o", "page.html")),
        "--create-graph": ((*NOTES, "--backward", "2"), ("--create-graph",)),
        "--dtype": (("x/3", "--x", "1", "--format", "json"), ("--dtype", "float32")),
    },
    "why": {
        "--precision": (NOTES, ("--precision",)),
        "--all": ((STEP,), ("--all",)),
        **BACKWARD,
        **LOOP_PART,
        "--format": (NOTES, ("--format", "csv")),
        "--set": (("x*x", "--x", "1"), ("--set", "x=3", "--x", "3")),
        "--dtype": (("x/3", "--x", "1", "--format", "json"), ("--dtype", "float32")),
        "--seed": (("(x*randn(2)).sum()", "--x", "1", "--seed", "1"), ("--seed", "2")),
        "--create-graph": ((*NOTES, "--backward", "2"), ("--create-graph",)),
        "--retain-grad": (("y = x*x\nz = y*2", "--x", "1"), ("--retain-grad", "y")),
    },
    "check": {
        **BACKWARD,
        "--format": (NOTES, ("--format", "csv")),
        "--order": (NOTES, ("--order", "2")),
        "--most": (("(x*x).sum()", "--x", "ones(5)"), ("--most", "2")),
        "--against": (NOTES, ("--against", "torch", "--python", "nowhere/python")),
        "--python": ((*NOTES, "--against", "torch"), ("--python", "nowhere/python")),
        "--model": (("model.py",), ("--model",)),
        "--steps": (("model.py", "--model"), ("--steps", "2")),
        "--all": (("(x*x).sum()", "--x", "ones(21)"), ("--all",)),
        "--set": (("x*x", "--x", "1"), ("--set", "x=3", "--x", "3")),
        "--dtype": (("x/3", "--x", "1", "--format", "json"), ("--dtype", "float32")),
        "--seed": (("(x*randn(2)).sum()", "--x", "1", "--seed", "1"), ("--seed", "2")),
        "--create-graph": ((*NOTES, "--backward", "2"), ("--create-graph",)),
        "--retain-grad": (NOTES, ("--retain-grad", "v")),
    },
    "diff": {
        **BACKWARD,
        **{
            name: (("x*w", "x*x*w", "--x", "2", "--w", "1"), added)
            for name, added in {
                "--output": ("--output", "x"),
                "--backward": ("--backward", "3"),
                "--no-backward": ("--no-backward",),
                "--grad-tensors": ("--grad-tensors", "2"),
                "--inputs": ("--inputs", "w"),
                "--no-grad": ("--no-grad", "w"),
                "--dtype": ("--dtype", "float16"),
                "--retain-grad": ("--retain-grad", "v"),
            }.items()
        },
        "--retain-graph": (("x*x", "x+x", "--x", "2", "--backward", "2"), ("--retain-graph",)),
        "--create-graph": (("x*x", "x+x", "--x", "2", "--backward", "2"), ("--create-graph",)),
        "--zero-grad": (
            ("x*x", "x+x", "--x", "2", "--backward", "2", "--retain-graph"),
            ("--zero-grad",),
        ),
        "-e": (("x+1", "--x", "1"), ("-e", "x*2")),
        "--set": (("x*x", "x+x", "--x", "1"), ("--set", "x=3", "--x", "3")),
        "--params": (("w*2", "w*3"), ("--params", "p.json")),
        "--seed": (("randn(2).sum()", "rand(2).sum()", "--seed", "1"), ("--seed", "2")),
        "--set-b": (("x*x", "--x", "3"), ("--set-b", "x=4")),
        "--step": (("train.py", "train.py"), ("--step", "1")),
        "--rtol": (("x*x", "x*x*1.01", "--x", "3"), ("--rtol", "0.1")),
        "--atol": (("x*x", "x*x*1.01", "--x", "3"), ("--atol", "1")),
        "--exact": (("x/3", "x*(1/3)", "--x", "5"), ("--exact",)),
        "-o": (("x*x", "x+x", "--x", "3"), ("-o", "d.svg")),
        "--all": (("loop.txt", "--x", "1", "--set-b", "x=2"), ("--all",)),
        "--format": (("x*x", "x+x", "--x", "3"), ("--format", "csv")),
    },
    "plan": {
        "--order": (NOTES, ("--order", "2")),
        "--output": (("loop.txt", "--x", "1"), ("--output", "x")),
        "--fast-math": (("x*w + 0", "--x", "2", "--w", "1"), ("--fast-math",)),
        "--runs": (NOTES, ("--runs", "2")),
        "--compare": (NOTES, ("--compare",)),
        "--format": (NOTES, ("--format", "dot")),
        "-o": (NOTES, ("-o", "p.svg")),
        **STATIC,
    },
    "map": {
        "--data": (("x*2",), ("--data", "t.csv")),
        "--grid": (("x*2", "--x", "1"), ("--grid", "x=1,2")),
        **{
            name: (("x*2", "--data", "t.csv"), added)
            for name, added in {
                "-o": ("-o", "out.csv"),
                "--data-format": ("--data-format", "tsv"),
                "--format": ("--format", "jsonl"),
                "--order": ("--order", "2"),
                "--keep": ("--keep", "none"),
                "--resume": ("--resume",),
                "--scheduler": ("--scheduler", "tcp://nowhere:1"),
                "--progress": ("--progress",),
                "--workers": ("--workers", "0"),
                "--part-rows": ("--part-rows", "0"),
                "--set": ("--set", "x=3"),
                "--no-grad": ("--no-grad", "x"),
                "--dtype": ("--dtype", "float32"),
                "-e": ("-e", "x/3"),
            }.items()
        },
        "--output": (("y = x*2\nz = y*x", "--data", "t.csv"), ("--output", "y")),
        "--grad": (("x*w", "--data", "t.csv", "--w", "2"), ("--grad", "w")),
        "--on-error": (("1/x", "--data", "bad.csv"), ("--on-error", "skip")),
        "--params": (("x*w", "--data", "t.csv"), ("--params", "p.json")),
        "--seed": (("x*2", "--data", "t.csv"), ("--seed", "none")),
    },
    "replay": {
        "--model": (("nowhere.gtc",), ("--model", "make")),
        "--step-function": (("nowhere.gtc",), ("--step-function", "step:")),
        "-o": (("nowhere.gtc",), ("-o", "a.html")),
        "--format": (("nowhere.gtc",), ("--format", "csv")),
    },
    "doctor": {"--format": ((), ("--format", "json"))},
    "ops": {"--format": (("mul",), ("--format", "json"))},
    "verify": {
        "--format": (("note.md",), ("--format", "json")),
        "--update": (("note.md",), ("--update",)),
        "--strict": (("old.txt",), ("--strict",)),
    },
}
WITHOUT_INPUTS = ("ops", "replay", "verify", "doctor", "completion")
BY_INPUT = (
    "repl",
    "tutorial",
)  # what these read is typed: their options are tried in tests of their own
# what `run` runs to show an option; with the arguments of SHARED
SCRIPTS = {
    "--set": "print(x)", "--params": "print(w)", "--no-grad": "y = x + w\nprint(w)", "--dtype": "print(x, w.dtype)",
    "--seed": "print(randn(2))", "--errors": "x*", "--color": "x*", "--debug": "x*",
}  # fmt: skip


@pytest.fixture
def compare(gt, here):
    """compare(args, added): the two command lines differ, and neither shows a fault of ours."""
    (here / "loop.txt").write_text(LOOP)
    (here / "train.py").write_text(TRAIN)
    (here / "many.py").write_text(MANY)
    (here / "model.py").write_text(MODEL)
    (here / "p.json").write_text('{"w": 3}')
    writer = FlightWriter(here / "steps.gtlog", ("time", "loss"), 10)
    writer.append(1, np.ones((3, 2)))
    writer.close()
    (here / "t.csv").write_text("x\n0.1\n2\n")
    (here / "bad.csv").write_text("x\n1\nnone\n")
    (here / "old.txt").write_text(
        "In [1]:\nimport torch\nprint(torch.ones(1, requires_grad=True) * 2)\n\ntensor([2.], grad_fn=<MulBackward>)\n"
    )
    (here / "note.md").write_text("```python\nprint(1)\n```\nIt prints\n```\n2\n```\n")

    def check(args, added):
        before, after = gt(*args), gt(*args, *added)
        assert 70 not in (before.exit_code, after.exit_code), before.stderr + after.stderr
        assert (before.exit_code, before.stdout, before.stderr) != (
            after.exit_code,
            after.stdout,
            after.stderr,
        )

    return check


def options(command):
    """The options of a command by their longest name."""
    params = cli.get_command(None, command).params
    return {
        max(param.opts, key=len): param for param in params if param.param_type_name == "option"
    }


def tried(command):
    """What is tried of a command: its own options and those that all have."""
    shared = SHARED
    if command in WITHOUT_INPUTS:
        shared = {
            name: (("nowhere",), added)
            for name, (_, added) in SHARED.items()
            if name in ("--errors", "--color", "--debug")
        }
    return {**shared, **OWN.get(command, {})}


def test_every_command_is_in_a_group_of_the_help():
    assert sorted(COMMANDS) == sorted(name for names in GROUPS.values() for name in names)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_tried_here_and_has_a_help_text(command, answer):
    known = options(command)
    limits = (
        set()
        if command in ("ops", "replay", "doctor", "completion", "tutorial")
        else {
            "--allow-write",
            "--allow-import",
            "--allow-read",
            "--require-wall",
            *(limit.flag for limit in LIMITS),
        }
    )
    engine = {"--engine", "--python"} & set(known)  # tests/torch/test_shell.py tries these
    assert command in BY_INPUT or set(known) == {*tried(command), *limits, *engine}
    said = answer(command, "--help-all")
    for name, option in known.items():
        assert option.help and not option.help[0].islower(), name
        assert f"  {name}" in said or f", {name}" in said


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_fits_a_screen(command, answer, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    said, everything = answer(command, "--help"), answer(command, "--help-all")
    assert len(said.splitlines()) <= 24, said
    assert max(map(len, (said + everything).splitlines())) <= 80
    assert said.endswith(f"\nMore options: gradtrace {command} --help-all\n")
    assert "--max-" not in said and "--debug" not in said and "--retain-graph" not in said
    assert len(everything.splitlines()) > len(said.splitlines())
    assert "--debug" in everything and "  --help-all " in everything
    listed = [line.split()[0] for line in said.splitlines() if line.startswith("  -")]
    assert set(listed) <= set(everything.replace(",", "").split())
    assert answer(command, "-h") == said and answer("help", command) == said


def test_the_help_of_the_tool_fits_a_screen(answer, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = answer("--help").splitlines()
    assert len(lines) <= 45 and max(map(len, lines)) <= 80
    named = [line.split()[0] for line in lines[3:] if line.startswith("  ")]
    assert named[:6] == ["eval", "graph", "page", "why", "diff", "verify"]
    doors = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert doors == ["Learn:", "Debug my training:", "Script a formula:", "More:", "Options:"]


def test_both_helps_list_the_variables_of_a_source(answer):
    for asked in ("--help", "--help-all"):
        said = answer("eval", "x*w", asked)
        assert "Variables of this expression:\n  --x VALUE" in said and "--w VALUE" in said


@pytest.mark.sampled(24)
@pytest.mark.parametrize(
    ("command", "option"),
    [
        (command, option)
        for command in COMMANDS
        if command not in ("run", *BY_INPUT)
        for option in tried(command)
    ],
)
def test_every_option_makes_a_difference(compare, command, option):
    args, added = tried(command)[option]
    compare((command, *args), added)


@pytest.mark.parametrize("option", SCRIPTS)
def test_every_option_of_run_makes_a_difference(compare, here, option):
    (here / "script").write_text(SCRIPTS[option])
    args, added = SHARED[option]
    compare(("run", "script", *args[1:]), added)


def test_run_writes_a_record(answer, here):
    (here / "script").write_text("x: leaf = 2.0\nprint(x * x)\n")
    args, added = tried("run")["-o"]
    assert answer("run", *args, *added) == answer("run", *args) and (here / added[1]).is_file()


def test_run_takes_an_expression(answer):
    assert answer("run", "-e", "print(1 + 1)") == "2\n"


@pytest.mark.parametrize(
    "name",
    [
        "--engine=torch",
        "--engine",
        "--allow-write=..",
        "--python=p.py",
        "--open",
        "-og.svg",
        "--max-seconds=9",
    ],
)
def test_an_option_that_is_also_a_files_name_is_refused(name, process, here):
    """A shell writes it for `*`."""
    for file in ("a.py", name):
        (here / file).write_text("print('it runs')\n")
    done = process("run", *sorted(path.name for path in here.iterdir()))
    assert (done.returncode, done.stdout) == (2, ""), done
    assert (
        f"'{name}' is an option and also the name of a file here; write ./{name} for the file"
        in done.stderr
    )
    assert process("run", f"./{name}").stdout == "it runs\n"
    assert process("run", "a.py", "--", name).stdout == "it runs\n"


def test_an_option_means_one_thing():
    """An option that several commands have takes the same kind of value in each."""
    kinds = {}
    for command in COMMANDS:
        for param in cli.get_command(None, command).params:
            for name in param.opts if param.param_type_name == "option" else ():
                kinds.setdefault(name, {}).setdefault(param.metavar or "flag", []).append(command)
    different = {name: found for name, found in kinds.items() if len(found) > 1}
    assert {"--to", "--from", "--output"}.isdisjoint(different)
    assert set(different.pop("--step")) == {"N", "N|all"}
    assert set(different.pop("--order")) == {"N", "1|2"}
    assert different.keys() <= {"-o", "--format", "--dtype", "--model", "--engine"}, different
