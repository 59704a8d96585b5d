"""The command as a process: streams, signals, terminals, what it imports."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys

import pytest

from gradtrace.cli import output

NOTES = ("eval", "(x+w)*(w+1)", "--x", "2", "--w", "1")


def test_the_main_job(process):
    done = process(*NOTES, "--get", "w.grad")
    assert (done.returncode, done.stdout, done.stderr) == (0, "5.0\n", "")


@pytest.fixture
def shell(clean, here):
    """shell("gradtrace eval ... | head") -> the same in bash; `$?` is the first failure in the pipe."""

    def run(line):
        line = re.sub(r"\bgradtrace\b(?!/)", f"{shlex.quote(sys.executable)} -m gradtrace", line)
        command = ["bash", "-o", "pipefail", "-c", line]
        return subprocess.run(
            command, env=clean(), capture_output=True, text=True, timeout=60, encoding="utf-8"
        )

    return run


E = 'gradtrace eval "(x+w)*(w+1)" --x 2 --w 1'


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"w=$({E} --get w.grad); echo $w", "5.0\n"),
        (f"{E} --retain-grad all --get '(x+w).grad' --get w+1.grad", "2.0\n3.0\n"),
        (f"{E} --backward 2 --retain-graph --get w.grad", "10.0\n"),
        (f"{E} --format json | {sys.executable} -m json.tool | grep -c schema", "1\n"),
        ("echo 2 | gradtrace eval 'x*x' --x @- --get x.grad", "4.0\n"),
        ("echo 'y = x*x' | gradtrace eval - --x 3 --get y", "9.0\n"),
        ("gradtrace eval 'x*w' --x 2 --w -1e-3 --get x.grad", "-0.001\n"),
        ("gradtrace eval --w=-1 'x*w' --x 2 --get x.grad", "-1.0\n"),
        ("gradtrace eval 'x*w' --x 2,3 --w 1,1 --grad-tensors 1,1 --get w.grad", "[2.0, 3.0]\n"),
        ("printf '1,2\\n3,4\\n' > d.csv; gradtrace eval '(x*x).sum()' --x @d.csv --get x.grad[1]", "[6.0, 8.0]\n"),
        ("echo '{\"x\": 2, \"w\": [1, 3]}' > p.json; gradtrace eval 'x*w' --params p.json --no-backward --format value",
         "[2.0, 6.0]\n"),
        ("printf 'a = x + w\\nb = w + 1\\ny = a * b\\n' > e.txt; gradtrace graph e.txt --x 2 --w 1 | head -1",
         "digraph {\n"),
        ("gradtrace eval 'randn(2).sum()' --seed 1 --format value > a; gradtrace eval 'randn(2).sum()' --seed 1 "
         "--format value | cmp a -", ""),
    ],
)  # fmt: skip
def test_lines_for_the_shell(shell, line, said):
    done = shell(line)
    assert (done.stdout, done.stderr, done.returncode) == (said, "", 0)


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("gradtrace eval 'x*' --x 1", 2, ["<expression>:1:3: syntax error"]),
        ("gradtrace eval 'x*w' --x 1", 2, ["<expression>:1:3: no value for w; give --w VALUE"]),
        ("gradtrace eval 'x*x' --x 1 --retian-graph", 2, ["did you mean --retain-graph?"]),
        ("gradtrace eval 'x*w' --x 2,3 --w 1,1", 1, ["grad can be implicitly created only for scalar outputs"]),
        (f"{E} --backward 2", 1, ["Trying to backward through the graph a second time (or", "hint: --retain-graph"]),
        ("gradtrace eval 'x+w' --x 2,3 --w 1,2,3", 1, ["The size of tensor a (2) must match the size of tensor b (3)"]),
        ("gradtrace", 2, ["Usage: gradtrace"]),
        ("gradtrace eval ''", 2, ["<expression> holds nothing to evaluate"]),
    ],
)  # fmt: skip
def test_refusals_in_the_shell(shell, line, code, words):
    done = shell(line)
    assert (done.returncode, done.stdout) == (code, "")
    assert all(word in done.stderr for word in words), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_head_ends_a_long_output_in_silence(shell, here, monkeypatch, unbuffered):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    (here / "loop.txt").write_text("y = x\nfor i in range(500):\n    y = sin(y)\n")
    done = shell("gradtrace graph loop.txt --x 1 --depth all | head -1; echo ${PIPESTATUS[0]}")
    assert (done.stdout, done.stderr) == ("digraph {\n141\n", "")


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


@pytest.mark.parametrize("way", ["-c", "-m cProfile"])
def test_what_waits_for_the_end_of_the_process_is_not_lost(clean, way):
    code = (
        f"import atexit, sys; atexit.register(print, 'bye'); sys.argv = {['gradtrace', *NOTES]!r}; "
    )
    code += "from gradtrace.cli.main import main; main()"
    command = (
        [sys.executable, "-c", code]
        if way == "-c"
        else [sys.executable, *way.split(), "-m", "gradtrace", *NOTES]
    )
    done = subprocess.run(
        command, env=clean(), capture_output=True, text=True, timeout=60, encoding="utf-8"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("name ")
    assert done.stdout.endswith("bye\n") if way == "-c" else "function calls" in done.stdout


def test_closed_streams(clean):
    command = f"{sys.executable} -m gradtrace eval 'x*1' --x 2 >&-"
    done = subprocess.run(
        ["sh", "-c", command], env=clean(), capture_output=True, text=True, timeout=60
    )
    assert "Traceback" not in done.stderr


def test_interrupt(start, here):
    (here / "s.py").write_text("print('ready')\nwhile True:\n    pass\n")
    child = start(
        "run", "s.py", stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={"PYTHONUNBUFFERED": "1"}
    )
    assert child.stdout.readline() == b"ready\n"
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 130
    assert said == b"gradtrace: interrupted\n"


def test_output_before_an_error_is_not_lost(process, here):
    (here / "s.py").write_text("print('before')\nraise ValueError('bad')\n")
    done = process("run", "s.py")
    assert (done.returncode, done.stdout) == (1, "before\n")
    assert done.stderr.splitlines()[0] == "s.py:2:1: ValueError: bad"
    both = process(
        "run", "s.py", capture_output=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ).stdout
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


@pytest.mark.parametrize("columns", [None, "40", "0", "-3", "wide", "", " 7 "])
def test_the_width_is_what_python_takes_it_for(columns, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    assert output.columns() == shutil.get_terminal_size().columns


def test_ascii_terminals(process):
    said = process(*NOTES, env={"PYTHONIOENCODING": "ascii"}, encoding="ascii").stdout
    assert "None [1]" in said and "[1] non-leaf" in said
    done = process("eval", "λ*2", "--λ", "1", env={"PYTHONIOENCODING": "ascii"}, encoding="ascii")
    assert done.returncode == 0 and "\\u03bb" in done.stdout
