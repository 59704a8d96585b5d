"""What a stranger's program can do to the terminal, to Ctrl-C and to the files that results replace: nothing."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = str(Path(__file__).parents[2])
COMMAND = [sys.executable, "-m", "gradtrace"]
ENVIRONMENT = {
    **{k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")},
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


def on_terminal(folder, *args):
    """What a terminal gets."""
    master, slave = pty.openpty()
    process = subprocess.Popen([*COMMAND, *args], cwd=folder, env=ENVIRONMENT, stdin=slave, stdout=slave, stderr=slave)
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
    assert shown == "\\x1b[31mred\\x1b]0;title\\x07 \\u202e \\x9b31m\r\n"


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
        [*COMMAND, "map", "x*w", "--data", "d.csv", "-o", "l.csv"], cwd=tmp_path, env=ENVIRONMENT, check=True
    )
    assert (tmp_path / "l.csv").is_symlink() and (tmp_path / "o.csv").read_text().startswith("x,w,")
    assert (tmp_path / "o.csv").stat().st_mode & 0o777 == 0o640
