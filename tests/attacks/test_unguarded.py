"""The second wall alone: the command line without the language's guards, and programs that are plain Python."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
PRELOADED = ("unguarded", HERE)
PROGRAMS = (HERE / "unguarded.txt").read_text().split("# ---\n")


@pytest.mark.parametrize("text", PROGRAMS, ids=lambda text: " ".join(text.split())[:60])
def test_the_wall_stops_what_the_language_would_not_have_let_in(text, yard):
    done = yard.run(
        "run",
        "-",
        text=text.replace("@PORT@", str(yard.door.port)),
        module="unguarded",
        environment={"PYTHONPATH": str(HERE)},
    )
    assert done.returncode == 1
    assert "the program was stopped: it tried to reach outside" in done.stderr, done.stderr[-500:]


def test_the_guards_are_off(yard):
    done = yard.run(
        "run",
        "-",
        text="import os\nprint(().__class__.__base__, os.getpid)",
        module="unguarded",
        environment={"PYTHONPATH": str(HERE)},
    )
    assert "<class 'object'> <built-in function getpid>" in done.stdout, done


def test_the_environment_is_empty(yard):
    done = yard.run(
        "run",
        "-",
        text="import os\nprint('CANARY' in os.environ, dict(os.environ))",
        module="unguarded",
        environment={"PYTHONPATH": str(HERE)},
    )
    assert done.stdout == "False {}\n", done
