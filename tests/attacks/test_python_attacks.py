"""Plain Python programs against the kernel's wall and the broker: none does what it tries, each ends with a line."""

import json
import platform
import subprocess
import sys
import time
from pathlib import Path

import pytest
from canaries import ENVIRONMENT, SECRET, Yard
from python_attacks import ATTACKS, FATAL, FORGED, FORGING, HARMLESS, PRELUDE, READING, REFUSED, SWEEP

from gradtrace.sandbox import kernel, system_calls

HERE = Path(__file__).parent
pytestmark = [
    pytest.mark.skipif(not kernel.offered().stands, reason="this kernel has no Landlock or no seccomp"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers of system calls are those of x86-64"),
]
TRIED = f"""
folder = os.getcwd()
for name, text in ATTACKS.items():
    os.chdir(folder)
    try:
        exec(text)
    except OSError as error:
        told = errno.errorcode.get(error.errno, type(error).__name__)
        print(name, "->", "refused" if told in {REFUSED!r} else told)
    except BaseException as error:
        print(name, "->", type(error).__name__)
    else:
        print(name, "-> DONE")
sys.stdout.flush()
os._exit(0)
"""
GROUPS = {name: dict(list(ATTACKS.items())[start::8]) for start, name in enumerate("abcdefgh")}


@pytest.fixture
def yard(tmp_path, door):
    return Yard(tmp_path, door, None)


def run(yard, text, **grants):
    """Run a program as a confined child; what the canaries say is asserted."""
    program = yard.folder / "p.py"
    program.write_text(text)
    given = json.dumps({"seconds": 20.0, **grants})
    return yard.run(
        str(program), given, module="plain_python", environment={"PYTHONPATH": f"{HERE}:{HERE.parents[1]}"}, inner=()
    )


def program_of(attacks, port):
    texts = {name: text.replace("PORT", str(port)) for name, text in attacks.items()}
    return f"{PRELUDE}\nATTACKS = {texts!r}\n{TRIED}"


def outcomes(done):
    lines = [line.rpartition(" -> ") for line in done.stdout.splitlines()]
    return {name: told for name, arrow, told in lines if arrow}


def is_harmless(name, told):
    return any(name.endswith(end) and told == known for end, known in HARMLESS.items())


def test_there_are_enough():
    assert len(ATTACKS) >= 200 and len(FATAL) >= 30 and len(FORGED) >= 25


@pytest.mark.parametrize("group", GROUPS)
def test_no_attack_succeeds(group, yard, door):
    done = run(yard, program_of(GROUPS[group], door.port))
    found = outcomes(done)
    assert found.keys() == GROUPS[group].keys(), done
    others = {name: told for name, told in found.items() if told != "refused"}
    surprises = {name: told for name, told in others.items() if not is_harmless(name, told)}
    assert surprises == {}, done.stderr


def test_the_attacks_are_real(yard, door):
    """Without a wall a program reads the canaries in each way."""
    without = ("rename", "sqlite", "library", "openat2", "send")
    wanted = {name: text for name, text in READING.items() if "secret.txt" in name}
    wanted = {name: text for name, text in wanted.items() if not any(word in name for word in without)}
    code = program_of(wanted, door.port)
    done = subprocess.run([sys.executable, "-c", code], cwd=yard.folder, capture_output=True, text=True, timeout=60)
    found = outcomes(done)
    assert found.keys() == wanted.keys() and set(found.values()) <= {"DONE", "EEXIST"}, found


@pytest.mark.parametrize("name", FATAL)
def test_a_program_that_does_not_end_or_breaks_is_reported(name, yard):
    text, said = FATAL[name]
    start = time.monotonic()
    done = run(yard, text, seconds=2.0, memory=100_000_000, output_bytes=100_000, printed=500_000)
    assert time.monotonic() - start < 15
    assert said in done.stderr and done.stderr.strip(), (done.returncode, done.stderr[-600:])
    assert done.returncode != 0 or "MemoryError" in done.stderr, done


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_message_does_nothing(name, yard):
    done = run(yard, f"{FORGING}\n{FORGED[name]}\ntime.sleep(60)\n", seconds=5.0)
    assert done.returncode == 1, done
    assert "did not keep to its protocol" in done.stderr or "ran longer than" in done.stderr, done


def test_every_system_call(yard):
    done = run(yard, SWEEP)
    assert done.returncode == 0, done
    answered = json.loads(done.stdout)
    table = system_calls.table(1, 1, writes=True, starts=False, temporary=True)
    known = {*table.allowed, *(number for number, _ in table.conditional), *table.ignored}
    assert set(answered) <= known, sorted(set(answered) - known)


def test_nothing_is_left_of_the_canaries(yard):
    """A program tells neither the secret nor the environment, however it looks for them in its own memory."""
    text = """
import os, sys, gc
found = [str(value) for value in gc.get_objects() if isinstance(value, (dict, list, tuple))]
print(len(found), [text[:100] for text in found if "canary" in text])
print(dict(os.environ))
"""
    done = run(yard, text)
    assert done.returncode == 0 and SECRET not in done.stdout and ENVIRONMENT not in done.stdout
