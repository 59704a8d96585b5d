"""What each command imports: a guard of the start-up time, by package."""

import os
import subprocess
import sys

import pytest

NOTES = ("eval", "(x+w)*(w+1)", "--x", "2", "--w", "1")
ARRAYS = ("eval", "(x@w).sum()", "--x", "1,2;3,4", "--w", "1,2;3,4")
CORE = {
    "annotations",
    "cli",
    "context",
    "engine",
    "errors",
    "lazy_names",
    "limits",
    "ops",
    "program",
    "sandbox",
    "trace",
    "views",
}
# Standard modules that take milliseconds and that a table of numbers has no use for. What stands in for some of them:
# `gradtrace.annotations` for typing and collections.abc, `gradtrace.program.syntax` for ast.
SLOW = {
    "ast",
    "collections",
    "contextlib",
    "csv",
    "dataclasses",
    "difflib",
    "enum",
    "functools",
    "inspect",
    "json",
    "logging",
    "re",
    "shutil",
    "subprocess",
    "tempfile",
    "traceback",
    "typing",
    "unicodedata",
}
CODE = """
import sys
before = set(sys.modules)
from gradtrace.cli.main import run
try:
    assert not run(sys.argv[1:])
except SystemExit as end:
    assert not end.code
print(*set(sys.modules) - before, file=sys.stderr)
"""


@pytest.fixture
def imported(clean, here):
    """imported(...) -> the modules that the command loads (but for those that Python had loaded before)."""

    def run(*args, stdout=subprocess.PIPE):
        command = [sys.executable, "-c", CODE, *args]
        done = subprocess.run(
            command, env=clean(), stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return set(done.stderr.split())

    return run


def foreign(modules):
    """The packages that come neither with Python nor with gradtrace."""
    return (
        {name.partition(".")[0] for name in modules} - set(sys.stdlib_module_names) - {"gradtrace"}
    )


def own(modules):
    """The parts of gradtrace."""
    return {name.split(".")[1] for name in modules if name.startswith("gradtrace.")}


@pytest.mark.parametrize(
    "args", [("--help",), ("--version",), ("eval", "--help"), ("graph", "--help-all")]
)
def test_help_loads_click_and_the_command_line_alone(imported, args):
    modules = imported(*args)
    assert foreign(modules) == {"click"}
    assert own(modules) <= {
        "annotations",
        "cli",
        "context",
        "errors",
        "lazy_names",
        "limits",
        "sandbox",
        "views",
    }


@pytest.mark.parametrize(
    "args",
    [
        NOTES,
        (*NOTES, "--get", "w.grad"),
        (*NOTES, "--retain-grad", "all"),
        (*NOTES, "--backward", "2", "--retain-graph"),
        ("eval", "exp(x)*sin(x)", "--x", "-1e-3"),
        ("eval", "log(x/w)", "--x", "2", "--w", "3", "--format", "value"),
    ],
)
def test_a_scalar_eval_loads_no_numpy(imported, args):
    modules = imported(*args)
    assert foreign(modules) == set()
    assert own(modules) == CORE
    assert modules & SLOW == set()


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs pseudo-terminals")
def test_a_terminal_loads_rich_besides(imported):
    main, side = os.openpty()
    modules = imported(*NOTES, stdout=side)
    os.close(side)
    assert b"\x1b[1m" in os.read(main, 65536)
    os.close(main)
    assert foreign(modules) - {"pygments"} == {"rich"}


def test_a_page_of_scalars_needs_no_numpy(imported, tmp_path):
    """The playground draws it, where there is none."""
    modules = imported("graph", *NOTES[1:], "-o", str(tmp_path / "g.html"))
    assert "numpy" not in foreign(modules)


def test_completion_loads_click_alone(imported, monkeypatch):
    monkeypatch.setenv("_GRADTRACE_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "gradtrace eval --retain")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert foreign(imported()) == {"click"}


@pytest.mark.parametrize("command", ["why", "trace"])
def test_other_commands_on_scalars_load_no_more(imported, command):
    modules = imported(command, *NOTES[1:])
    assert foreign(modules) == set()
    assert modules & SLOW == set()


def test_an_eval_of_arrays_loads_numpy_besides(imported):
    modules = imported(*ARRAYS)
    assert foreign(modules) == {"numpy"}
    assert own(modules) == CORE
    assert not {
        name for name in modules if name.startswith(("numpy.random", "numpy.fft", "numpy.ma."))
    }


def test_a_graph_loads_graphviz_and_a_picture_its_renderer(imported):
    assert foreign(imported("graph", *NOTES[1:])) == {"graphviz"}
    assert {"graphviz", "pygraphviz"} <= (
        drawn := foreign(imported("graph", *NOTES[1:], "-o", "g.svg"))
    )
    assert "click" not in drawn


def test_a_script_loads_what_it_uses(imported, here):
    (here / "s.py").write_text(
        "import torch\nx = torch.ones(2, requires_grad=True)\n(x * x).sum().backward()\n"
    )
    modules = imported("run", "s.py")
    assert foreign(modules) == {"numpy"}
    assert not own(modules) & {"func", "optim", "trace"}
    assert not any(name.startswith("gradtrace.nn.modules") for name in modules)
