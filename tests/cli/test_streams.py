"""What a stranger's program can do to the terminal, to Ctrl-C and to the files that results replace: nothing."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

ROOT = str(Path(__file__).parents[2])
COMMAND = [sys.executable, "-m", "gradtrace"]
ENVIRONMENT = {
    **{k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")},
    "PYTHONPATH": ROOT,
    "TERM": "xterm",
}
HOSTILE = "\x1b[31mred\x1b]0;title\x07 \u202e \x9b31m"


def run(folder, text, *options, **environment):
    (folder / "p.py").write_text(text, encoding="utf-8")
    return subprocess.run(
        [*COMMAND, "run", "./p.py", *options],
        cwd=folder,
        env={**ENVIRONMENT, **environment},
        capture_output=True,
        timeout=60,
    )


PAINT = re.compile(r"\x1b\[[\d;]*m")


def on_terminal(folder, *args, columns=80):
    """What a terminal of so many columns gets."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [*COMMAND, *args], cwd=folder, env=ENVIRONMENT, stdin=slave, stdout=slave, stderr=slave
    )
    os.close(slave)
    found = b""
    try:
        while chunk := os.read(master, 4096):
            found += chunk
    except OSError:  # the other end is closed
        pass
    process.wait(timeout=60)
    os.close(master)
    return found.decode()


def test_a_program_prints_as_it_likes_to_a_pipe_but_cannot_command_a_terminal(tmp_path):
    assert run(tmp_path, f"print({HOSTILE!r})").stdout.decode() == HOSTILE + "\n"
    shown = on_terminal(tmp_path, "run", "./p.py", "--color=never")
    assert shown == "\x1b[31mred\\x1b]0;title\\x07 \\u202e \\x9b31m\r\n"


def test_nor_by_the_words_of_an_exception(tmp_path):
    text = f"class A(Exception): pass\nA.__name__ = {HOSTILE!r}\nraise A({HOSTILE!r})\n"
    for option in ("--errors=text", "--errors=json"):
        said = run(tmp_path, text, option).stderr.decode()
        assert said and all(c.isprintable() or c == "\n" for c in said)


def test_letters_that_the_terminal_has_not_are_escaped(tmp_path):
    done = run(tmp_path, "print('λ → 1')\nprint('\\ud800')\n", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stdout) == (0, b"\\u03bb \\u2192 1\n\\ud800\n")


STUBBORN = {
    "finally": "while True:\n    try:\n        while True: pass\n    finally:\n        continue\n",
    "except": "while True:\n    try:\n        while True: pass\n    except: pass\n",
    "exit": "class A:\n    def __enter__(self): return self\n    def __exit__(self, *a): return True\n"
    "while True:\n    with A():\n        while True: pass\n",
    "native": "import torch\nx = torch.randn(1500, 1500)\nwhile True:\n    try: x @ x\n    finally: continue\n",
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", STUBBORN)
def test_no_program_survives_an_interrupt(name, tmp_path):
    (tmp_path / "p.py").write_text("print('ready', flush=True)\n" + STUBBORN[name])
    process = subprocess.Popen(
        [*COMMAND, "run", "./p.py"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "gradtrace: interrupted\n")


def test_a_table_keeps_the_rights_of_the_file_that_it_replaces(tmp_path):
    (tmp_path / "d.csv").write_text("x,w\n1,2\n")
    (tmp_path / "o.csv").write_text("old")
    (tmp_path / "o.csv").chmod(0o640)
    (tmp_path / "l.csv").symlink_to("o.csv")
    subprocess.run(
        [*COMMAND, "map", "x*w", "--data", "d.csv", "-o", "l.csv"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        check=True,
    )
    assert (tmp_path / "l.csv").is_symlink() and (tmp_path / "o.csv").read_text().startswith("x,w,")
    assert (tmp_path / "o.csv").stat().st_mode & 0o777 == 0o640


def test_results_keep_the_terminals_width_and_colour(tmp_path):
    """The confined process has pipes, and answers as for the streams that the user sees."""
    text = "a: leaf = 1.0\nb: leaf = 123456.789\ny = (a + 2) * b * sin(a) * cos(b) + a * b * tanh(a * b)\n"
    (tmp_path / "e.txt").write_text(text)
    shown = [on_terminal(tmp_path, "trace", "./e.txt", columns=columns) for columns in (60, 100)]
    assert all("\x1b[" in text for text in shown)
    widths = [max(len(line) for line in PAINT.sub("", text).splitlines()) for text in shown]
    assert widths[0] <= 60 < widths[1] <= 100


def test_stdout_and_stderr_keep_their_order_on_one_file(tmp_path):
    lines = "import sys\nfor i in range(300):\n    print('out', i, flush=True)\n    print('err', i, file=sys.stderr)\n"
    (tmp_path / "p.py").write_text(lines)
    command = [*COMMAND, "run", "./p.py"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.stdout == "".join(f"out {i}\nerr {i}\n" for i in range(300))


def test_only_a_command_that_names_stdin_reads_it(tmp_path):
    """As in a shell's `while read name; do gradtrace run p.py; done < names`."""
    (tmp_path / "p.py").write_text("print(1)\n")
    (tmp_path / "names").write_text("a\nb\n")
    for args, rest in ((("run", "./p.py"), "a\nb\n"), (("eval", "x", "--x", "@-"), "")):
        with (tmp_path / "names").open() as names:
            subprocess.run(
                [*COMMAND, *args], cwd=tmp_path, env=ENVIRONMENT, stdin=names, capture_output=True
            )
            assert os.read(names.fileno(), 99).decode() == rest


def test_a_reader_that_has_gone_and_a_full_disk_are_told(tmp_path):
    (tmp_path / "p.py").write_text("print(1)\n")
    reading, writing = os.pipe()
    os.close(reading)
    run = {"cwd": tmp_path, "env": ENVIRONMENT, "stderr": subprocess.PIPE, "text": True}
    done = subprocess.run([*COMMAND, "run", "./p.py"], stdout=writing, **run)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, "run", "./p.py"], stdout=full, **run)
    assert (done.returncode, done.stderr) == (
        1,
        "gradtrace: cannot write the output: no space left on device\n",
    )


@pytest.mark.parametrize("closed", [0, 2])
def test_a_closed_stream_is_nobodys(closed, tmp_path):
    (tmp_path / "p.py").write_text("print(1)\n")
    command = f"{sys.executable} -m gradtrace run ./p.py {closed}>&-"
    done = subprocess.run(
        command, shell=True, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "1\n")


def test_what_a_large_table_prints_arrives_whole(tmp_path):
    (tmp_path / "e.txt").write_text("x*x\n")
    done = subprocess.run(
        [*COMMAND, "map", "./e.txt", "--grid", "x=0:1:400000", "--format", "jsonl"],
        cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert (
        len(lines) == 400_000 and lines[-1].startswith('{"x": 1.0') and done.stdout.endswith("}\n")
    )


@pytest.mark.parametrize("path", ["/dev/stdin", "/dev/fd/0"])
def test_stdin_is_read_by_its_path(tmp_path, path):
    done = subprocess.run(
        [*COMMAND, "run", path],
        input=b"print(3)\n",
        env=ENVIRONMENT,
        capture_output=True,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout) == (0, b"3\n"), done.stderr


def test_a_hangup_that_nohup_ignores_ends_nothing(tmp_path):
    (tmp_path / "p.py").write_text("print(1)\nfor i in range(10 ** 9):\n    x = i\n")
    ignored = [
        "sh",
        "-c",
        'trap "" HUP; exec "$@"',
        "sh",
        *COMMAND,
        "run",
        "--max-seconds",
        "3",
        "./p.py",
    ]
    with subprocess.Popen(
        ignored, cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.PIPE, start_new_session=True
    ) as run:
        time.sleep(1.5)
        os.killpg(run.pid, signal.SIGHUP)
        message = run.communicate()[1].decode()
    assert run.returncode == 1 and "longer than 3 s" in message


def test_long_lines_are_written_whole_without_a_buffer(process, here):
    """Timer signals interrupt writes to a pipe."""
    (here / "p.py").write_text(
        "import torch, sys\nprint('a' * 10**7)\nprint('b' * 10**7, file=sys.stderr)\n"
    )
    done = process("run", "p.py", env={"PYTHONUNBUFFERED": "1"})
    assert (done.returncode, len(done.stdout), len(done.stderr)) == (0, 10**7 + 1, 10**7 + 1)
