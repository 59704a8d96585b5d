"""Plain Python programs against the kernel's wall and the broker: none does what it tries, each ends with a line."""

import json
import platform
import subprocess
import sys
import time
from pathlib import Path

import pytest
from canaries import ENVIRONMENT, SECRET, Yard
from python_attacks import (
    ATTACKS,
    FATAL,
    FORGED,
    FORGING,
    READING,
    SWEEP,
    answered_calls,
    known_calls,
    outcomes,
    program_of,
    surprises,
)

from gradtrace.sandbox import kernel

HERE = Path(__file__).parent
pytestmark = [
    pytest.mark.skipif(
        not kernel.offered().stands, reason="this kernel has no Landlock or no seccomp"
    ),
    pytest.mark.skipif(
        platform.machine() != "x86_64", reason="the numbers of system calls are those of x86-64"
    ),
]
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
        str(program),
        given,
        module="plain_python",
        environment={"PYTHONPATH": f"{HERE}:{HERE.parents[1]}"},
        inner=(),
    )


def test_there_are_enough():
    assert len(ATTACKS) >= 200 and len(FATAL) >= 30 and len(FORGED) >= 25


@pytest.mark.parametrize("group", GROUPS)
def test_no_attack_succeeds(group, yard, door):
    done = run(
        yard, f"{program_of(GROUPS[group], door.port, str(yard.folder / 'p.py'))}\nos._exit(0)"
    )
    made = outcomes(done.stderr)
    assert dict(made).keys() == GROUPS[group].keys(), done
    assert surprises(made) == set(), done.stderr


def test_the_attacks_are_real(yard, door):
    """Without a wall a program reads the canaries in each way."""
    without = ("rename", "sqlite", "library", "openat2", "send")
    wanted = {name: text for name, text in READING.items() if "secret.txt" in name}
    wanted = {
        name: text for name, text in wanted.items() if not any(word in name for word in without)
    }
    code = program_of(wanted, door.port, "p.py")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=yard.folder, capture_output=True, text=True, timeout=60
    )
    found = dict(outcomes(done.stderr))
    assert found.keys() == wanted.keys() and set(found.values()) <= {"DONE", "EEXIST"}, found


@pytest.mark.sampled(8)
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
    surplus = answered_calls(done.stderr) - known_calls()
    assert surplus == set(), sorted(surplus)


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
