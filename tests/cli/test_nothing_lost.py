"""What a command must not destroy or miss: its inputs, files of another kind, closed streams, endless input."""

import json
import os
import pty
import select
import subprocess
import sys
import time

import pytest

PROGRAM = "a = x * w\ny = a.sum()\n"


@pytest.fixture
def files(here):
    """A program, a table, values and parameters: name -> content."""
    import numpy as np

    (here / "p.txt").write_text(PROGRAM)
    (here / "q.py").write_text("import torch\ny = torch.ones(2, requires_grad=True).sum()\n")
    (here / "d.csv").write_text("x,w\n1,2\n3,4\n")
    (here / "params.json").write_text('{"x": [1, 2], "w": [3, 4]}')
    np.save(here / "x.npy", np.array([1.0, 2.0]))
    (here / "note.svg").write_text("a note of mine\n")
    (here / "plan.dot").write_text("buy milk\n")
    (here / "list.html").write_text("1. bread\n")
    (here / "todo.txt").write_text("bread\nmilk\n")
    os.symlink("p.txt", here / "link.txt")
    return {name: (here / name).read_bytes() for name in os.listdir(here)}


X = ("--x", "1,2", "--w", "3,4")
REFUSED = {
    "the program": ("graph", "p.txt", *X, "-o", "p.txt"),
    "the program by another path": ("graph", "p.txt", *X, "-o", "./../{here}/p.txt"),
    "the program by a link": ("graph", "p.txt", *X, "-o", "link.txt"),
    "a value": ("jacobian", "x*w", "--x", "@x.npy", "--w", "3,4", "-o", "x.npy"),
    "a value of --set": ("jacobian", "x*w", "-s", "x=@x.npy", "--w", "3,4", "-o", "x.npy"),
    "the parameters": ("graph", "x*w", "--params", "params.json", "-o", "params.json"),
    "a table": ("map", "x*w", "--data", "d.csv", "-o", "d.csv"),
    "a text as svg": ("graph", "x*w", *X, "-o", "note.svg"),
    "a text as dot": ("graph", "x*w", *X, "-o", "plan.dot"),
    "a text as html": ("graph", "x*w", *X, "-o", "list.html"),
    "a text as a tree": ("graph", "x*w", *X, "-o", "todo.txt"),
    "another program as a tree": ("graph", "x*w", *X, "-o", "p.txt"),
    "an array as a record": ("graph", "x*w", *X, "-o", "x.gt"),
    "the second program of diff": ("diff", "x*w", "p.txt", *X, "-o", "p.dot"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_no_output_overwrites_what_is_not_its_own(process, here, files, what):
    if what == "an array as a record":
        os.rename(here / "x.npy", here / "x.gt")
    if what == "the second program of diff":
        os.unlink(here / "link.txt")
        os.rename(here / "p.txt", here / "p.dot")
        args = ("diff", "x*w", "./p.dot", *X, "-o", "p.dot")
    else:
        args = tuple(part.replace("{here}", here.name) for part in REFUSED[what])
    before = {name: (here / name).read_bytes() for name in os.listdir(here)}
    done = process(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert "would overwrite" in done.stderr or "is not a ." in done.stderr
    assert {name: (here / name).read_bytes() for name in os.listdir(here)} == before


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "name", ["g.svg", "g.dot", "g.png", "g.txt", "g.json", "g.html", "g.gt", "g.mmd", "g.graphml"]
)
def test_an_earlier_output_is_replaced(process, name):
    for x in (1, 2):
        done = process("graph", "(x+w)*(w+1)", "--x", x, "--w", 1, "-o", name)
        assert (done.returncode, done.stderr) == (0, "")


def test_an_empty_file_and_a_device_may_be_written(process, here):
    (here / "g.svg").write_text("")
    assert process("graph", "x*x", "--x", 1, "-o", "g.svg").returncode == 0
    assert (
        process("map", "x*x", "--grid", "x=1,2", "-o", "/dev/null", "--format", "csv").returncode
        == 0
    )


@pytest.mark.parametrize(
    "function", ["zeros", "ones", "empty", "full", "arange", "eye", "tensor", "linspace"]
)
def test_creation_refuses_unknown_keywords(process, here, function):
    arguments = {"full": "(2,), 1.0", "linspace": "0, 1, 3"}.get(function, "2")
    (here / "p.py").write_text(
        f"import torch\nx = torch.{function}({arguments}, dtpye=torch.float64)\n"
    )
    done = process("run", "p.py")
    assert done.returncode == 1
    assert f" TypeError: {function}() " in done.stderr
    assert "dtpye" in done.stderr.split("TypeError: ")[1]


def test_a_nul_byte_has_its_place(process, here):
    (here / "p.txt").write_bytes(b"y = x * 2\nz = y\0 + 1\n")
    done = process("eval", "p.txt", "--x", 2)
    assert done.returncode == 2
    assert done.stderr.startswith("p.txt:2:6: the program is not text: here is a NUL character")


@pytest.mark.parametrize("source", ["-", "pipe.txt"])
def test_reading_stands_under_the_time_limit(start, here, source):
    os.mkfifo(here / "pipe.txt")
    begun = time.monotonic()
    with start(
        "eval",
        source,
        "--x",
        "1",
        "--max-seconds",
        "0.5",
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as run:
        assert b"longer than 0.5 s" in run.stderr.read()
        assert run.wait() == 1
    assert time.monotonic() - begun < 30


def test_parsing_stands_under_the_time_limit(process, here):
    (here / "p.txt").write_text("y = [" + "1+" * 400_000 + "1]\n")
    done = process("eval", "p.txt", "--max-seconds", "0.05")
    assert done.returncode in (1, 2)
    assert "longer than 0.05 s" in done.stderr


def test_stdout_that_is_closed_is_an_error(here, clean):
    (here / "p.py").write_text("print(1)\n")
    for line in ("eval 'x*x' --x 2", "run p.py", "graph 'x*x' --x 2", "why 'x*x' --x 2", "ops"):
        command = ["bash", "-c", f"{sys.executable} -m gradtrace {line} >&-"]
        done = subprocess.run(command, env=clean(), capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (
            1,
            "gradtrace: stdout is closed; leave out >&-, or send the results to a file\n",
        )


def test_the_default_of_memory_follows_the_machine(process):
    from gradtrace import limits

    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert limits.Budget().memory_bytes <= min(8_000_000_000, there // 2)
    assert limits.machine_memory(0.5, 1000) == 1000
    assert "half of the machine's memory, at most 8,000,000,000" in " ".join(
        process("eval", "--help-all").stdout.split()
    )


@pytest.mark.slow
def test_a_program_that_is_silent_says_on_a_terminal_that_it_runs(here, clean):
    (here / "p.py").write_text("n = 0\nwhile n < 10**12:\n    n += 1\nprint('done', n)\n")
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "gradtrace", "run", "p.py", "--max-seconds", "14"]
    with subprocess.Popen(command, env=clean(), stdin=slave, stdout=slave, stderr=slave) as run:
        os.close(slave)
        said, begun = b"", time.monotonic()
        while b"the program runs" not in said and time.monotonic() - begun < 60:
            if select.select([master], [], [], 1.0)[0]:
                said += os.read(master, 1000)
        waited = time.monotonic() - begun
        run.kill()
    os.close(master)
    assert b"gradtrace: the program runs, 10 s" in said
    assert waited > 9


# ---- tables


def test_the_manifest_has_the_bad_rows_of_every_run(process, here):
    rows = [f"{i},{'no' if i % 7 == 0 else i}" for i in range(100)]
    (here / "in.csv").write_text("id,x\n" + "\n".join(rows) + "\n")
    command = (
        "map",
        "x*x",
        "--data",
        "in.csv",
        "-o",
        "out/",
        "--part-rows",
        10,
        "--on-error",
        "skip",
        "--resume",
    )
    assert process(*command).returncode == 0
    manifest = json.loads((here / "out/manifest.json").read_text())
    bad = {
        part: sum(i % 7 == 0 for i in range(10 * k, 10 * k + 10))
        for k, part in enumerate(manifest["parts"])
    }
    assert (manifest["bad_rows"], manifest["bad_rows_by_part"]) == (
        15,
        {p: n for p, n in bad.items() if n},
    )
    os.unlink(here / "out" / manifest["parts"][3])
    assert process(*command).returncode == 0
    assert json.loads((here / "out/manifest.json").read_text()) == manifest


def test_bad_rows_survive_a_run_that_ended_early(process, here):
    (here / "in.csv").write_text(
        "id,x\n" + "".join(f"{i},{'no' if i % 3 == 0 else i}\n" for i in range(60))
    )
    command = (
        "map",
        "x*x",
        "--data",
        "in.csv",
        "-o",
        "out/",
        "--part-rows",
        10,
        "--on-error",
        "null",
        "--resume",
    )
    assert process(*command).returncode == 0
    whole = json.loads((here / "out/manifest.json").read_text())
    # as a kill leaves it: no manifest, a part missing, what was noted of it and of a file that was not finished
    os.unlink(here / "out/manifest.json")
    os.unlink(here / "out" / whole["parts"][2])
    for k, part in enumerate(whole["parts"]):
        (here / f"out/.bad-{10 * k:012d}-{whole['bad_rows_by_part'][part]}").touch()
    (here / "out/.bad-000000000020-9").touch()
    (here / "out/.unfinished-fingerprint.json.123").touch()
    assert process(*command).returncode == 0
    assert json.loads((here / "out/manifest.json").read_text()) == whole
    assert set(os.listdir(here / "out")) == {"fingerprint.json", "manifest.json", *whole["parts"]}
