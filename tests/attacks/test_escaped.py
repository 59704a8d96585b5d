"""A hostile program in every command: the kernel's wall and the broker must hold."""

import subprocess
import sys
from pathlib import Path

import commands
import pytest
from canaries import Yard

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
ATTEMPTS = 'abs("attempts")\n'
PROGRAM = ATTEMPTS + commands.PROGRAM
QUICK = ("run", "repl", "map")


@pytest.fixture
def escaped(tmp_path, door):
    """escaped(args, text) -> the process, after it was checked that no canary was touched."""
    yard = Yard(tmp_path, door, None)
    commands.write_sources(yard.folder, ATTEMPTS)

    def run(args, text="", makes=(), may_make=(), program=None):
        if program is not None:
            (yard.folder / "p.py").write_text(program)
        return yard.run(
            *args,
            text=text,
            module="escaped",
            environment={"PYTHONPATH": str(HERE)},
            makes=makes,
            may_make=may_make,
        )

    return run


def outcomes(done):
    """The name and the outcome of each attempt."""
    lines = [
        line.removeprefix("attempt ")
        for line in done.stderr.splitlines()
        if line.startswith("attempt ")
    ]
    return dict(line.split(": ", 1) for line in lines)


# Calls that are answered and change nothing, and a pair of sockets that are connected with each other alone.
WITHOUT_EFFECT = {"chmod", "fchmod", "utime", "socketpair"}


def check(done, wanted=()):
    found = outcomes(done)
    assert len(found) >= 140, done
    not_refused = {name for name, how in found.items() if not how.startswith("refused")}
    assert not_refused <= WITHOUT_EFFECT, done.stderr[-3000:]


SLOW = [
    pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
    for name in commands.COMMANDS
]


@pytest.mark.parametrize("name", SLOW)
def test_no_attempt_succeeds(name, escaped):
    check(escaped(commands.COMMANDS[name], PROGRAM if name == "repl" else ""))


@pytest.mark.slow
@pytest.mark.parametrize("suffix", commands.PICTURES)
def test_no_attempt_succeeds_while_a_picture_is_made(suffix, escaped):
    done = escaped(commands.drawing(suffix), may_make=(f"g.{suffix}",))
    check(done)
    is_spoilt = (
        "Graphviz could not draw the graph" in done.stderr
    )  # attempts close the process's own descriptors
    assert done.returncode == 0 or (done.returncode == 1 and is_spoilt), done


@pytest.mark.slow
def test_no_attempt_succeeds_while_a_run_is_recorded(escaped):
    check(escaped(("run", "p.py", "-o", "r.gt"), makes=("r.gt",)))


def test_the_attempts_are_real(tmp_path, door):
    """Without a wall those that do no harm succeed."""
    code = "import escaped; from gradtrace.cli import broker; broker.enable = lambda: None; escaped.main.main()"
    yard = Yard(tmp_path, door, None)
    (yard.folder / "p.py").write_text(PROGRAM.replace('"attempts"', '"harmless"'))
    environment = {
        "PYTHONPATH": str(HERE),
        "PATH": "/usr/bin:/bin",
        "CANARY": "canary-of-the-environment-2284",
    }
    command = [sys.executable, "-c", code, "run", "p.py"]
    done = subprocess.run(
        command, cwd=yard.folder, env=environment, capture_output=True, text=True, timeout=60
    )
    found = outcomes(done)
    assert len(found) > 25 and set(found.values()) == {"DONE"}, done.stderr


@pytest.mark.parametrize(
    "number", [pytest.param(n, marks=() if n < 4 else pytest.mark.slow) for n in range(25)]
)
def test_a_forged_message_ends_the_run_and_does_nothing(number, escaped):
    done = escaped(("run", "p.py", "--max-seconds", "10"), program=f"abs('forge {number}')\n")
    assert done.returncode == 1 and "did not keep to its protocol" in done.stderr, done


def test_an_output_of_another_kind_is_not_written(escaped):
    done = escaped(("graph", "p.py", "-o", "g.png"), program="abs('forge file')\n")
    assert done.returncode != 0 and "is not a .png file" in done.stderr, done


def test_no_browser_is_opened_unasked(escaped):
    done = escaped(("graph", "p.py", "-o", "g.html"), program="abs('show')\n", makes=("g.html",))
    assert done.returncode == 1 and "did not keep to its protocol" in done.stderr, done


@pytest.mark.sampled(1)
@pytest.mark.parametrize("how", ["hang", "close", "trickle", "deaf"])
def test_a_process_that_does_not_end_is_ended(how, escaped):
    done = escaped(("run", "p.py", "--max-seconds", "1"), program=f"abs('{how}')\n")
    assert done.returncode == 1 and "ran longer than 1 s" in done.stderr, done


def test_shared_memory_is_refused(escaped):
    done = escaped(("run", "p.py", "--max-memory", "100000000"), program="abs('memory')\n")
    assert (
        done.returncode == 1 and "PermissionError: [Errno 1] Operation not permitted" in done.stderr
    ), done


@pytest.mark.parametrize(
    ("what", "said"), [("threads", "more than 2,000 threads"), ("scratch", "more memory than")]
)
def test_a_process_that_takes_threads_or_a_file_is_ended(what, said, escaped):
    done = escaped(("run", "p.py"), program=f"abs('{what}')\n")
    assert done.returncode == 1 and said in done.stderr, done


def test_a_log_is_not_truncated(tmp_path, door):
    """The shell has opened it before the walls stand: `gradtrace run p.py >> log`."""
    yard = Yard(tmp_path, door, None)
    (yard.folder / "p.py").write_text(PROGRAM)
    log = tmp_path / "log"
    log.write_text("before\n")
    for options in ((), ("--allow-write", "out")):
        with log.open("a") as out:
            subprocess.run(
                [sys.executable, "-m", "escaped", "run", "p.py", *options],
                cwd=yard.folder, env={"PYTHONPATH": f"{HERE}:{HERE.parents[1]}"}, stdout=out, stderr=out, check=False,
            )  # fmt: skip
        text = log.read_text()
        assert text.startswith("before\n") and "attempt truncate stdout: refused" in text


PRINTING = {
    "run": ("run", "p.py"),
    "run, writing": ("run", "p.py", "--allow-write", "out"),
    "eval": ("eval", "e.txt"),
    "why": ("why", "p.py", "w"),
    "graph": ("graph", "e.txt"),
    "verify": ("verify", "n.md"),
    "map": ("map", "m.txt", "--grid", "x=0:1:5"),
    "repl": ("repl",),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("descriptor", [1, 2])
@pytest.mark.parametrize("name", PRINTING)
def test_no_code_prints_more_than_the_limit(name, descriptor, tmp_path, door):
    yard = Yard(tmp_path, door, None)
    commands.write_sources(yard.folder, f'abs("flood {descriptor}")\n')
    entries = tmp_path / "entries"
    entries.write_text(f'abs("flood {descriptor}")\n')
    with (tmp_path / "log").open("ab") as log, entries.open() as stdin:
        done = subprocess.run(
            [sys.executable, "-m", "escaped", *PRINTING[name], "--max-output", "1000"],
            cwd=yard.folder, env={"PYTHONPATH": f"{HERE}:{HERE.parents[1]}"}, stdin=stdin, stdout=log, stderr=log,
            check=False, timeout=60,
        )  # fmt: skip
    text = (tmp_path / "log").read_bytes()
    assert done.returncode == 1 and len(text) < (100_000 if name.startswith("run") else 1_100_000)
    assert b"wrote more than 1000 bytes; raise the limit with --max-output" in text[-300:]


@pytest.mark.parametrize("mode", ["ab", "r+b"])
def test_what_a_log_held_before_stays(mode, tmp_path, door):
    """Descriptors that the caller has opened for more than appending: stdin for writing too, a log at its end."""
    yard = Yard(tmp_path, door, None)
    before = b"before\n" * 1000
    for options in ((), ("--allow-write", "out")):
        (yard.folder / "p.py").write_text('abs("overwrite")\nprint("after")\n')
        logs = [tmp_path / name for name in ("in", "out", "err")]
        for log in logs:
            log.write_bytes(before)
        with logs[0].open("r+b") as stdin, logs[1].open(mode) as out, logs[2].open(mode) as err:
            out.seek(0, 2)
            err.seek(0, 2)
            subprocess.run(
                [sys.executable, "-m", "escaped", "run", "p.py", *options],
                cwd=yard.folder, env={"PYTHONPATH": f"{HERE}:{HERE.parents[1]}"}, stdin=stdin, stdout=out, stderr=err,
                check=False, timeout=60,
            )  # fmt: skip
        stdin, out, err = (log.read_bytes() for log in logs)
        assert stdin == before and out.startswith(before) and err.startswith(before)
        assert (
            out.endswith(b"after\n") and b"tried everything\n" in err and b"OVER" not in out + err
        )
        assert b"read from stdin: before" not in err


def test_a_module_beside_the_program_is_not_imported(tmp_path, door):
    yard = Yard(tmp_path, door, None)
    for name in ("json", "numbers", "numpy", "select", "struct"):
        (yard.folder / f"{name}.py").write_text("raise SystemExit('imported')")
    (yard.folder / "p.py").write_text("import torch\nprint(torch.ones(2))\n")
    done = yard.run("run", "p.py")
    assert done.returncode == 0 and "imported" not in done.stderr, done
