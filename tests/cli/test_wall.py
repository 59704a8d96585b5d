"""The second wall alone: code that got past the language's checks, in a process with the wall built and raised."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = str(Path(__file__).parents[2])
ATTACKS = {
    "read": "open('secret').read()",
    "write": "open('mark', 'w').write('x')",
    "append": "open('secret', 'a').write('x')",
    "descriptor": "import os; os.open('mark', os.O_CREAT | os.O_WRONLY)",
    "remove": "import os; os.remove('secret')",
    "rename": "import os; os.rename('secret', 'mark')",
    "folder": "import os; os.mkdir('mark')",
    "list": "import os; print(os.listdir('.'))",
    "system": "import os; os.system('touch mark')",
    "fork": "import os; os.fork()",
    "exec": "import os; os.execv('/bin/sh', ['sh', '-c', 'touch mark'])",
    "spawn": "import os; os.posix_spawn('/bin/sh', ['sh', '-c', 'touch mark'], {})",
    "environment": "import os; os.putenv('A', 'b')",
    "process": "import subprocess; subprocess.run(['touch', 'mark'])",
    "socket": "import socket; socket.create_connection(('127.0.0.1', 9), 1)",
    "server": "import socket; socket.socket().bind(('127.0.0.1', 0))",
    "ctypes": "import ctypes; ctypes.CDLL(None).system(b'touch mark')",
    "pickle": "import pickle; pickle.loads(b'cos\\nsystem\\n(S\\'touch mark\\'\\ntR.')",
    "numpy save": "import numpy; numpy.save('mark.npy', numpy.ones(2))",
    "numpy load": "import numpy; numpy.load('secret')",
    "numpy tofile": "import numpy; numpy.ones(2).tofile('mark')",
    "own data": "import gradtrace; open(gradtrace.__path__[0] + '/lang/../../mark', 'rb')",
    "code": "exec('x = 1')",
    "signal": "import os; os.kill(os.getpid(), 15)",
    "limits": "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10))",
    "import": "import webbrowser",
    "import by name": "import importlib; importlib.import_module('multiprocessing')",
}
# What is imported before the wall goes up is what an attack finds in sys.modules.
PROCESS = """
import ctypes, os, pickle, socket, subprocess, resource
from gradtrace.errors import WallError
from gradtrace.lang import wall

def attack():
    {body}
wall.build()
try:
    with wall.raised():
        attack()
except WallError as error:
    print("refused", error)
except BaseException as error:
    print("other", repr(error))
else:
    print("done")
"""


def here():
    return {**os.environ, "PYTHONPATH": ROOT}


def process(folder, code):
    text = PROCESS.format(body=code)
    command = [sys.executable, "-c", text]
    return subprocess.run(command, cwd=folder, env=here(), capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_refused_by_the_wall_alone(name, tmp_path):
    (tmp_path / "secret").write_text("canary")
    done = process(tmp_path, ATTACKS[name])
    assert done.stdout.startswith("refused"), done
    assert "canary" not in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]
    assert (tmp_path / "secret").read_text() == "canary"


CONTROLS = {
    "numpy": "import numpy; print(numpy.linalg.inv(numpy.eye(2)))",
    "a family of operators": "import gradtrace; gradtrace.linalg.svd(gradtrace.ones(2, 2))",
    "a module of Python": "import statistics, string",
    "a run within a run": "from gradtrace import lang; lang.run(lang.parse('x = 2.0'))",
    "printing": "print('fine')",
}


@pytest.mark.parametrize("name", CONTROLS)
def test_what_a_run_needs_is_not_refused(name, tmp_path):
    done = process(tmp_path, CONTROLS[name])
    assert done.stdout.endswith("done\n"), done


def test_a_named_tuple_and_a_value_read_from_a_file_in_the_midst_of_a_run(tmp_path):
    (tmp_path / "p.py").write_text(
        "import torch\nfrom collections import namedtuple\nP = namedtuple('P', 'a b')\n"
        "x = torch.ones(2, requires_grad=True)\nprint(P(1, 2))\nx * 3\n"
    )
    (tmp_path / "v.json").write_text("[1.0, 2.0]")
    command = [sys.executable, "-m", "gradtrace", "eval", "./p.py", "--grad-tensors", "@v.json", "--get", "x.grad"]
    done = subprocess.run(command, cwd=tmp_path, env=here(), capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "[3.0, 6.0]\n"), done


def test_a_program_sees_no_environment():
    body = """
import os, posix
from gradtrace.lang import wall
wall.build()
before = dict(os.environ), dict(posix.environ)
with wall.raised():
    assert not os.environ and not posix.environ and os.getenv("CANARY") is None
    with wall.lowered():
        assert (dict(os.environ), dict(posix.environ)) == before
    assert not os.environ
assert (dict(os.environ), dict(posix.environ)) == before
print("same")
"""
    done = subprocess.run(
        [sys.executable, "-c", body],
        env={**os.environ, "PYTHONPATH": ROOT, "CANARY": "seen"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "same\n", done
