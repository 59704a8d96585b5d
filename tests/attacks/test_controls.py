"""Honest programs near what is refused, and near the limits: they must work, so that refusing everything fails."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROGRAMS = (HERE / "controls.txt").read_text("utf-8").split("# ---\n")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("text", PROGRAMS, ids=lambda text: text.partition("\n")[0])
def test_it_works(text, yard):
    expected, _, body = text.partition("\n")
    done = yard.run("run", "-", text=body)
    assert (done.returncode, done.stdout.partition("\n")[0]) == (0, expected.removeprefix("# ")), (
        done
    )


@pytest.mark.parametrize(
    "script", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name
)
def test_the_examples_work(script, yard):
    done = yard.run("run", str(script))
    assert done.returncode == 0, done.stderr


def test_near_the_limits_of_the_parser(yard):
    lines = "".join(f"{' ' * i}for i{i} in [1]:\n" for i in range(19)) + " " * 19 + "pass\n"
    deep = "x = " + "[" * 90 + "1" + "]" * 90 + "\n"
    wide = "y = 0" + "".join(f" + {i}" for i in range(1000)) + "\nprint(y)\n"
    done = yard.run("run", "-", text="\ufeff" + (lines + deep + wide).replace("\n", "\r\n"))
    assert (done.returncode, done.stdout) == (0, "499500\n"), done


def test_what_may_be_written_is(yard):
    program = (
        "import os\nimport numpy as np\nos.mkdir('out/new')\n"
        "np.save('out/new/x', np.ones(2))\nnp.save('out/y.npy', np.zeros(1))"
    )
    done = yard.run(
        "run",
        "-",
        "--allow-write",
        "out",
        text=program,
        makes=("out/new", "out/new/x.npy", "out/y.npy"),
    )
    assert done.returncode == 0, done
