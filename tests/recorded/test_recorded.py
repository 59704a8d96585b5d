"""Programs print what PyTorch printed, byte for byte but for addresses, in each way that `SUBJECTS` names."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from gradtrace.errors import GradtraceError
from gradtrace.program.parse import parse
from gradtrace.program.run import run as run_program
from tests.fork_server import ROOT, WARM_UP_ARRAYS, ForkServer
from tests.recorded.programs import HERE, SUBJECTS, Program, answers, paths, printed, programs


def each(way: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("program", programs(way), ids=lambda program: program.name)


def run(
    script: Path, cwd: Path, *options: str, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gradtrace", "run", str(script), *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, env=environment, check=False, timeout=120
    )


FIGURES = ("wild/figure_kinds",)  # what they print comes from matplotlib


@pytest.mark.sampled(80)
@each("command")
def test_the_command_line_prints_it(
    program: Program, tmp_path: Path, is_forked: bool, fork_server: Callable[..., ForkServer]
) -> None:
    if program.name in FIGURES:
        pytest.importorskip("matplotlib")
    if is_forked:
        done = fork_server(WARM_UP_ARRAYS).run(
            ["run", str(program.path)], cwd=tmp_path, env=os.environ
        )
    else:
        done = run(program.path, tmp_path)
    assert (done.returncode, program.tidy(done.stdout)) == (0, program.answer), done.stderr
    assert not list(tmp_path.iterdir()), "a file was written without --allow-write"


@pytest.mark.sampled(80)
@each("library")
def test_the_library_prints_it(program: Program) -> None:
    assert printed(program, "gradtrace") == program.answer


@pytest.mark.sampled(80)
@each("language")
def test_the_language_prints_it(program: Program) -> None:
    if program.is_library_only:
        pytest.skip("uses what the language does not have")
    out = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run_program(parse(program.source, program.path.name), stdout=out)
        except GradtraceError as error:
            if not program.title:
                raise
            out.write(error.message.partition("\n")[0])
    assert program.tidy(out.getvalue()) == program.answer


@pytest.mark.sampled(60)
@each("pytorch")
def test_pytorch_prints_it(program: Program) -> None:
    pytest.importorskip(
        "torch", reason="the recorded answers are PyTorch's: pip install torch==2.13.0"
    )
    shown = printed_apart(program) if "catch_warnings" in program.source else printed(program)
    assert shown == program.answer


def printed_apart(program: Program) -> str:
    """What a program prints in another process: PyTorch gives some warnings once in each."""
    code = "import sys; from tests.recorded.programs import HERE, Program, printed; "
    code += "print(printed(Program(HERE / sys.argv[1], sys.argv[2], sys.stdin.read())), end='')"
    arguments = [str(program.path.relative_to(HERE)), program.title]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        input=program.source,
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_program_has_an_answer_and_every_answer_a_program(subject: str) -> None:
    assert set(answers(subject)) == {path.stem for path in paths(subject)}


def test_there_are_sixty_in_the_style_of_public_scripts() -> None:
    assert len(paths("wild")) >= 60


def test_random_cells_of_the_fifth_note(tmp_path: Path) -> None:
    """Cells 1 to 3: the loss is the mean of the squared differences, and backward prints nothing."""
    done = run(HERE / "seeds/note_5_cells_1_3_forward_backward.py", tmp_path)
    assert done.returncode == 0, done.stderr
    first, *rows = done.stdout.splitlines()
    assert re.fullmatch(r"tensor\(\d+\.\d{4}\)", first)
    assert len(rows) == 10
    assert rows[0].startswith("tensor([[") and rows[-1].endswith("]])")
    assert len({len(row.rstrip(",)]")) for row in rows}) == 1
    assert not done.stderr


def test_the_tensorboard_cells_of_the_fifth_note(tmp_path: Path) -> None:
    """One event file in the folder that the note names, and the one line that the note prints."""
    pytest.importorskip("tensorboardX")
    script = HERE / "seeds/note_5_cells_20_26_24_tensorboard.py"
    done = run(script, tmp_path, "--allow-write", "data", env={"TMPDIR": str(tmp_path)})
    assert (done.returncode, done.stdout) == (0, "No known TensorBoard instances running.\n"), (
        done.stderr
    )
    (file,) = (tmp_path / "data/tensorboard/2_3_autograph").iterdir()
    assert file.name.startswith("events.out.tfevents.")


def test_second_backward_of_the_fifth_note(tmp_path: Path) -> None:
    done = run(HERE / "seeds/note_5_cell_3_second_backward.py", tmp_path)
    assert done.returncode == 1
    assert "Trying to backward through the graph a second time" in done.stderr
    assert "note_5_cell_3_second_backward.py:" in done.stderr
