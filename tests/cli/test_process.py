"""The command as a process: streams, signals, terminals, what it imports."""

import os
import re
import signal
import subprocess
import sys

import pytest

NOTES = ("eval", "(x+w)*(w+1)", "--x", "2", "--w", "1")


def test_the_main_job(process):
    done = process(*NOTES, "--get", "w.grad")
    assert (done.returncode, done.stdout, done.stderr) == (0, "5.0\n", "")


def test_values_from_a_pipe(process):
    assert process("eval", "x*x", "--x", "@-", "--get", "root", input="2\n").stdout == "4.0\n"


def test_exit_codes(process):
    assert process("eval", "x*", "--x", "1").returncode == 2
    assert process("eval", "x*x", "--x", "1,2").returncode == 1
    assert process("--version").returncode == 0


def test_a_closed_pipe_is_silent(start):
    for args in (NOTES, ("graph", *NOTES[1:]), ("--help",), (*NOTES, "--format", "json")):
        reader, writer = os.pipe()
        os.close(reader)
        child = start(*args, stdout=writer, stderr=subprocess.PIPE)
        os.close(writer)
        assert child.communicate(timeout=60)[1] == b""
        assert child.returncode == 141, args


def test_a_script_whose_reader_goes_away(start, here):
    (here / "s.py").write_text("for i in range(100000):\n    print('line', i)\n")
    child = start("run", "s.py", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout.readline() == b"line 0\n"
    child.stdout.close()
    assert child.stderr.read() == b""
    child.stderr.close()
    assert child.wait(60) == 141


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_one_line(start):
    with open("/dev/full", "w") as full:
        child = start(*NOTES, stdout=full, stderr=subprocess.PIPE)
        said = child.communicate(timeout=60)[1].decode()
    assert said == "gradtrace: cannot write the output: no space left on device\n"
    assert child.returncode == 1


def test_closed_streams(clean):
    command = f"{sys.executable} -m gradtrace eval 'x*1' --x 2 >&-"
    done = subprocess.run(["sh", "-c", command], env=clean(), capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr


def test_interrupt(start, here):
    (here / "s.py").write_text("print('ready')\nwhile True:\n    pass\n")
    child = start("run", "s.py", stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={"PYTHONUNBUFFERED": "1"})
    assert child.stdout.readline() == b"ready\n"
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 130
    assert said == b"gradtrace: interrupted\n"


def test_output_before_an_error_is_not_lost(process, here):
    (here / "s.py").write_text("print('before')\nraise ValueError('bad')\n")
    done = process("run", "s.py")
    assert (done.returncode, done.stdout) == (1, "before\n")
    assert done.stderr.splitlines()[-1] == "ValueError: bad"
    both = process("run", "s.py", capture_output=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    assert both.index("before") < both.index("ValueError")


def terminal(environment, columns, *args):
    """What a terminal of so many columns shows, as lines without colours, and as it came."""
    pty = pytest.importorskip("pty")
    import fcntl
    import struct
    import termios

    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    command = [sys.executable, "-m", "gradtrace", *args]
    child = subprocess.Popen(command, stdin=side, stdout=side, stderr=side, env=environment)
    os.close(side)
    chunks = []
    while True:
        try:
            chunk = os.read(main, 65536)
        except OSError:
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(main)
    assert child.wait(60) == 0
    text = b"".join(chunks).decode().replace("\r\n", "\n")
    return re.sub("\x1b\\[[0-9;]*m", "", text).splitlines(), text


ARRAYS = (
    "eval",
    "((x @ w).relu() + b).sum()",
    "--x",
    "[[0.123456, -2], [3, 4.5], [1, 1]]",
    "--w",
    "[[1,-0.3333333],[0.25,2]]",
    "--b",
    "0.5,0.25",
    "--no-grad",
    "x",
)


@pytest.mark.parametrize("columns", [60, 80, 100, 200])
@pytest.mark.parametrize("args", [NOTES, ARRAYS, (*NOTES, "--create-graph")])
def test_tables_fit_the_terminal(clean, columns, args):
    lines, raw = terminal(clean(TERM="xterm"), columns, *args)
    assert max(map(len, lines)) <= columns
    assert "\x1b[1m" in raw
    words = " ".join(lines).split()
    for column in ("name", "value", "shape", "dtype", "grad_fn", "grad"):
        assert column in words
    assert "MulBackward0" in words or "SumBackward0" in words


def test_a_pipe_is_not_cut_to_the_terminal(process):
    said = process(*ARRAYS, env={"COLUMNS": "40"}).stdout
    assert "[1, -0.3333, 0.25, 2]" in said or "-0.3333" in said
    assert "…" not in said


def test_ascii_terminals(process):
    said = process(*NOTES, env={"PYTHONIOENCODING": "ascii"}, encoding="ascii").stdout
    assert "None [1]" in said and "[1] non-leaf" in said
    done = process("eval", "λ*2", "--λ", "1", env={"PYTHONIOENCODING": "ascii"}, encoding="ascii")
    assert done.returncode == 0 and "\\u03bb" in done.stdout


# ---- what is imported


def imported(environment, args):
    """The modules that a command loads: the outermost packages, and all."""
    code = (
        "import sys, runpy; sys.argv = ['gradtrace'] + sys.argv[1:]\n"
        "try: runpy.run_module('gradtrace', run_name='__main__')\n"
        "except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, *args]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    return {name.split(".")[0] for name in done.stderr.split()}, set(done.stderr.split())


HEAVY = {"numpy", "rich", "graphviz", "pygraphviz", "json", "csv", "dataclasses", "difflib", "traceback", "tempfile"}


@pytest.mark.parametrize(
    "args",
    [
        NOTES,
        (*NOTES, "--get", "w.grad"),
        (*NOTES, "--retain-grad", "all"),
        ("eval", "exp(x)*sin(x)", "--x", "-1e-3"),
    ],
)
def test_a_scalar_eval_imports_no_numpy(clean, args):
    bare, _ = imported(clean(), ("--version",))
    top, _ = imported(clean(), args)
    assert "click" in top
    assert not (top - bare) & HEAVY
    assert not top & {"numpy", "rich", "graphviz", "pygraphviz"}


@pytest.mark.parametrize("args", [("--help",), ("--version",), ("eval", "--help")])
def test_help_imports_click_alone(clean, args):
    top, full = imported(clean(), args)
    assert not top & {"numpy", "rich", "graphviz", "pygraphviz"}
    assert not any(
        name.startswith(("gradtrace.engine", "gradtrace.ops", "gradtrace.lang", "gradtrace.trace")) for name in full
    )
