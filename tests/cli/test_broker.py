"""The confined child and its broker, by the command line: what goes through, and what a system without walls says."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from gradtrace.sandbox import kernel

pytestmark = pytest.mark.skipif(
    not kernel.offered().stands, reason="this kernel has no Landlock or no seccomp"
)
WITHOUT = """
import sys
from gradtrace.sandbox import kernel
kernel.landlock_version = lambda: 0
kernel.machine = lambda: ""
from gradtrace.cli.main import main
main()
"""


def without_walls(args, **extra):
    """A process on a system that has neither Landlock nor seccomp."""
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, *args], capture_output=True, text=True, timeout=60, **extra
    )


def test_a_system_without_walls_says_so_once(here, clean):
    (here / "p.py").write_text("print(1)\n")
    done = without_walls(("run", "p.py"), env=clean())
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert done.stderr == (
        "gradtrace: the kernel does not confine programs here: it has no Landlock and seccomp; it runs as under python "
        "(--require-wall refuses)\n"
    )


def test_the_users_own_expression_needs_no_such_line(here, clean):
    assert without_walls(("eval", "x*x", "--x", "2", "--get", "x.grad"), env=clean()).stderr == ""


def test_a_wall_may_be_required(here, clean, process):
    (here / "p.py").write_text("print(1)\n")
    done = without_walls(("run", "p.py", "--require-wall"), env=clean())
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        "the kernel does not confine programs here" in done.stderr
        and "gradtrace doctor" in done.stderr
    )
    assert process("run", "p.py", "--require-wall").stdout == "1\n"
    assert without_walls(("eval", "x", "--x", "2", "--require-wall"), env=clean()).returncode == 2
    # of a script's own arguments
    assert without_walls(("run", "p.py", "--", "--require-wall"), env=clean()).returncode == 0


SPLITS = """
import sys
from gradtrace.cli import broker
from gradtrace.cli.main import main
class Stop(BaseException): pass
def stop(): raise Stop
broker.os.fork = stop
try:
    main()
except Stop:
    print("splits")
"""
OWN = (
    ("x*x", "--x", "2"),
    ("-e", "x*x", "--x", "1,2"),
    ("x*x", "-s", "x=2", "--backward", "1"),
    ("randn(2).sum()",),
)
STRANGERS = (
    ("./e.txt", "--x", "2"), ("-", "--x", "2"), ("e.txt", "--x", "2"), ("@e.txt", "--x", "2"), ("x*x", "--x", "@d.npy"),
    ("x*x", "--x", "@-"), ("x*x", "-s", "x=@d.npy"), ("x*x", "-sx=@d.npy"), ("x*x", "--params", "p.json"),
    ("x*x", "--params=p.json"), ("x*x", "--x", "2", "--allow-import", "."), ("x*x", "--x", "2", "--allow-write", "o"),
    ("x*x", "--x", "2", "--grad-tensors", "@d.npy"), ("x*x", "--x", "2", "--require-wall"), ("x*x", "--x=@d.npy"),
)  # fmt: skip


def test_a_second_source_is_a_strangers_too(here, clean):
    for args in (("x*x", "-"), ("-e", "x*x", "-")):
        command = [sys.executable, "-c", SPLITS, "diff", *args, "--x", "2"]
        done = subprocess.run(
            command, env=clean(), capture_output=True, text=True, timeout=60, input="x+x"
        )
        assert done.stdout == "splits\n", done


@pytest.mark.parametrize(
    ("args", "splits"), [*((a, False) for a in OWN), *((a, True) for a in STRANGERS)]
)
def test_only_the_users_own_text_runs_without_the_split(args, splits, here, clean):
    (here / "e.txt").write_text("x*x\n")
    command = [sys.executable, "-c", SPLITS, "eval", *args]
    done = subprocess.run(
        command, env=clean(), capture_output=True, text=True, timeout=60, input="2"
    )
    assert (done.stdout == "splits\n") is splits, done


def test_doctor_names_the_extras_that_are_missing(process):
    facts = json.loads(process("doctor", "--format", "json").stdout)["extras"]
    lines = {line.split()[0]: line for line in process("doctor").stdout.splitlines()}
    for package, extra in (("matplotlib", "plot"), ("pyarrow", "arrow"), ("sympy", "symbolic")):
        assert (f"pip install 'gradtrace[{extra}]'" in lines[package]) is not facts[package]


def test_doctor(process, clean):
    done = process("doctor")
    assert (
        done.returncode == 0
        and "Landlock" in done.stdout
        and "the kernel refuses them" in done.stdout
    )
    found = json.loads(process("doctor", "--format", "json").stdout)
    assert (
        found["schema"] == "gradtrace/doctor"
        and found["confined"] is True
        and found["landlock"] >= 1
    )
    bare = without_walls(("doctor",), env=clean())
    assert bare.returncode == 1 and "none here" in bare.stdout


@pytest.mark.parametrize("name", ["g.svg", "g.png", "g.html", "g.gif", "g.json"])
def test_what_the_child_makes_is_what_an_open_process_makes(name, process, gt, here):
    text = "import torch\nw = torch.tensor(2.0, requires_grad=True)\ny = w * w\ny.backward()\n"
    (here / "p.py").write_text(text)
    assert process("graph", "p.py", "-o", name).returncode == 0
    confined = (here / name).read_bytes()
    assert gt("graph", "p.py", "-o", name).exit_code == 0
    assert (here / name).read_bytes() == confined


def test_a_large_graph_is_drawn_by_a_process_of_the_broker(process, here):
    (here / "p.txt").write_text("y = x\nfor i in range(300):\n    y = sin(y) + x\n")
    done = process("graph", "p.txt", "--x", "1", "--detail", "-o", "g.svg")
    assert done.returncode == 0, done.stderr
    assert (here / "g.svg").read_bytes().startswith(b"<?xml")


def test_a_new_folder_of_allow_write_goes_unless_it_is_used(process, here):
    (here / "p.py").write_text("print(1)\n")
    assert process("run", "p.py", "--allow-write", "new/deep").returncode == 0
    assert not (here / "new").exists()
    (here / "p.py").write_text("import numpy as np\nnp.save('new/deep/a', np.ones(2))\n")
    assert process("run", "p.py", "--allow-write", "new/deep").returncode == 0
    assert (here / "new/deep/a.npy").is_file()


def test_an_existing_file_is_replaced_whole_or_not_at_all(process, here):
    (here / "g.svg").write_text("<svg/>")
    (here / "p.txt").write_text("y = x\nraise ValueError('no')\n")
    process("graph", "p.txt", "--x", "1", "-o", "g.svg")
    before = (here / "g.svg").read_bytes()
    assert before.startswith(b"<?xml")  # a failed run is drawn up to its failure
    (here / "p.txt").write_text("y = \n")
    assert process("graph", "p.txt", "-o", "g.svg").returncode == 2
    assert (here / "g.svg").read_bytes() == before
    assert sorted(path.name for path in here.iterdir()) == ["g.svg", "p.txt"]


def started(here, clean, *args):
    command = [sys.executable, "-m", "gradtrace", *args]
    return subprocess.Popen(
        command, cwd=here, env=clean(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_an_interrupt_of_the_parent_alone_ends_the_run(here, clean):
    (here / "p.py").write_text("print('on', flush=True)\nwhile True:\n    pass\n")
    run = started(here, clean, "run", "p.py")
    assert run.stdout.readline() == "on\n"
    run.send_signal(signal.SIGINT)
    _, told = run.communicate(timeout=30)
    assert run.returncode == 130 and "Traceback" not in told


def test_the_child_ends_with_its_parent(here, clean):
    (here / "p.py").write_text("import os\nprint('on', flush=True)\nwhile True:\n    pass\n")
    run = started(here, clean, "run", "p.py")
    assert run.stdout.readline() == "on\n"
    with open(f"/proc/{run.pid}/task/{run.pid}/children") as file:
        child = int(file.read())
    run.kill()
    run.communicate(timeout=30)
    for _ in range(200):
        if not os.path.exists(f"/proc/{child}"):
            return
        time.sleep(0.02)
    raise AssertionError("the child goes on")


def test_a_reader_that_goes_ends_the_run_quietly(here, clean):
    (here / "p.py").write_text("while True:\n    print('x' * 1000)\n")
    run = started(here, clean, "run", "p.py")
    run.stdout.readline()
    run.stdout.close()
    assert run.wait(30) == 141
    assert run.stderr.read() == ""


def test_no_clock_runs_at_the_prompt_but_in_each_entry(at_terminal):
    pytest.importorskip("readline")
    t = at_terminal("repl", "--max-seconds", "1", until=">>> ")
    time.sleep(1.5)
    t.say("1 + 6\n")
    assert "7" in t.until(">>> ")
    t.say("while True: pass\n")
    t.until("... ")
    t.say("\n")
    assert "ran longer than 1 s" in t.until(">>> ")
    t.say("\x04")
    t.until("\r\n")
    assert t.end() == 0
