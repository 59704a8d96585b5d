"""Attacks of plain Python programs on the command line: the kernel refuses each, and the program sees an exception."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gradtrace.sandbox import kernel

pytestmark = pytest.mark.skipif(
    not kernel.offered().stands, reason="this kernel has no Landlock or no seccomp"
)
ROOT = str(Path(__file__).parents[2])
REFUSED = {
    "read": "open('secret').read()",
    "write": "open('mark', 'w').write('x')",
    "append": "open('secret', 'a').write('x')",
    "descriptor": "os.open('mark', os.O_CREAT | os.O_WRONLY)",
    "remove": "os.remove('secret')",
    "rename": "os.rename('secret', 'mark')",
    "folder": "os.mkdir('mark')",
    "list": "os.listdir('.')",
    "fork": "os.fork()",
    "exec": "os.execv('/bin/sh', ['sh', '-c', 'touch mark'])",
    "spawn": "os.posix_spawn('/bin/sh', ['sh', '-c', 'touch mark'], {})",
    "process": "subprocess.run(['touch', 'mark'])",
    "socket": "socket.create_connection(('127.0.0.1', 9), 1)",
    "server": "socket.socket().bind(('127.0.0.1', 0))",
    "numpy save": "np.save('mark.npy', np.ones(2))",
    "numpy load": "np.load('secret')",
    "numpy tofile": "np.ones(2).tofile('mark')",
    "signal": "os.kill(os.getppid(), 15)",
    "memory of the parent": "open(f'/proc/{os.getppid()}/mem', 'rb')",
    "environment of the parent": "open(f'/proc/{os.getppid()}/environ', 'rb')",
}
SILENT = {  # what fails without an exception
    "system": "os.system('touch mark')",
    "ctypes": "ctypes.CDLL(None).system(b'touch mark')",
    "pickle": "pickle.loads(b'''cos\nsystem\n(S'touch mark'\ntR.''')",
}
PROGRAM = """
import ctypes, os, pickle, socket, subprocess
import numpy as np
for name, attack in ATTACKS.items():
    try:
        result = eval(attack)
    except PermissionError:
        print("refused", name)
    except BaseException as error:
        print(name, repr(error))
    else:
        print(name, "returned", result)
"""


def run(folder, text, *options, **environment):
    (folder / "p.py").write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "gradtrace", "run", "p.py", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": ROOT, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def attempts(folder, attacks):
    """Return the lines that a program prints about its attacks; nothing in its folder has changed."""
    (folder / "secret").write_text("canary")
    done = run(folder, f"ATTACKS = {attacks!r}\n" + PROGRAM)
    assert (done.returncode, done.stderr) == (0, ""), done
    assert "canary" not in done.stdout
    assert sorted(path.name for path in folder.iterdir()) == ["p.py", "secret"]
    assert (folder / "secret").read_text() == "canary"
    return done.stdout.splitlines()


def test_the_kernel_refuses_attacks(tmp_path):
    assert attempts(tmp_path, REFUSED) == [f"refused {name}" for name in REFUSED]


def test_attacks_by_a_shell_have_no_effect(tmp_path):
    assert len(attempts(tmp_path, SILENT)) == len(SILENT)


def test_an_uncaught_refusal_is_an_error_of_one_place(tmp_path):
    done = run(tmp_path, "import os\nos.fork()\n")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("p.py:2:1: PermissionError: [Errno 1] Operation not permitted; ")
    assert "starts no other programs" in done.stderr and done.stderr.count("\n") == 3


CONTROLS = {
    "numpy": "import numpy; print(numpy.linalg.inv(numpy.eye(2)))",
    "a family of operators": "import gradtrace; gradtrace.linalg.svd(gradtrace.ones(2, 2))",
    "modules of Python": "import statistics, string, socket, subprocess, multiprocessing, webbrowser",
    "attributes of classes": "print(().__class__.__base__.__subclasses__())",
    "code from text": "exec('x = 1')\nprint(eval('x + 1'))",
    "the own process": "import os, signal; os.kill(os.getpid(), 0); print(os.getpid())",
    "threads": "import threading; t = threading.Thread(target=print, args=(1,)); t.start(); t.join()",
    "standard streams": "import sys; print('fine'); print('fine', file=sys.stderr); sys.stdout.flush()",
}


def test_what_python_needs_is_not_refused(tmp_path):
    done = run(tmp_path, "\n".join(CONTROLS.values()))
    assert done.returncode == 0, done


def test_a_named_tuple_and_a_value_read_from_a_file_in_the_midst_of_a_run(tmp_path):
    (tmp_path / "p.py").write_text(
        "import torch\nfrom collections import namedtuple\nP = namedtuple('P', 'a b')\n"
        "x = torch.ones(2, requires_grad=True)\nprint(P(1, 2))\nx * 3\n"
    )
    (tmp_path / "v.json").write_text("[1.0, 2.0]")
    command = [
        sys.executable,
        "-m",
        "gradtrace",
        "eval",
        "./p.py",
        "--grad-tensors",
        "@v.json",
        "--get",
        "x.grad",
    ]
    environment = {**os.environ, "PYTHONPATH": ROOT}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "[3.0, 6.0]\n"), done


def test_a_program_sees_no_environment(tmp_path):
    text = """
import ctypes, os
libc = ctypes.CDLL(None)
libc.getenv.restype = ctypes.c_char_p
print(os.getenv("CANARY"), "CANARY" in os.environ, libc.getenv(b"CANARY"))
try:
    print(b"seen-by-nobody" in open("/proc/self/environ", "rb").read())
except PermissionError:
    print("refused")
"""
    done = run(tmp_path, text, CANARY="seen-by-nobody")
    assert (done.returncode, done.stdout) == (0, "None False None\nrefused\n"), done
