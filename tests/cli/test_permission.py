"""--allow-write DIR: a program writes into that folder and nowhere else."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = str(Path(__file__).parents[2])


def run(text, folder, *options):
    return subprocess.run(
        [sys.executable, "-m", "gradtrace", "run", "-", *options],
        input=text,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": ROOT},
        capture_output=True,
        text=True,
        timeout=60,
    )


def save(path):
    return f"import numpy as np\nnp.save({path!r}, np.array([[1.0, 2.0], [3.0, 4.0]]).T)\nprint('saved')\n"


def files(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if not p.is_dir())


def test_a_program_writes_into_the_folder_that_was_named(tmp_path):
    done = run(save("runs/one/x.npy"), tmp_path, "--allow-write", "runs")
    assert (done.returncode, done.stdout, done.stderr) == (0, "saved\n", "")
    assert np.load(tmp_path / "runs/one/x.npy").tolist() == [[1.0, 3.0], [2.0, 4.0]]


def test_without_the_permission_nothing_is_written(tmp_path):
    done = run(save("x.npy"), tmp_path)
    assert done.returncode == 1 and files(tmp_path) == []
    assert "programs write no files; allow it with --allow-write DIR" in done.stderr


@pytest.mark.parametrize(
    "path",
    [
        "x.npy",
        "../x.npy",
        "runs/../x.npy",
        "runs2/x.npy",
        "runs/out/x.npy",
        "/tmp/x/y.npy",
        "runs/away.npy",
        "runs/second.npy",
        "runs/pipe.npy",
        "runs/x\0.npy",
    ],
)
def test_what_lies_outside_is_refused(path, tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/out").symlink_to(tmp_path)
    (tmp_path / "runs/away.npy").symlink_to(tmp_path / "x.npy")
    (tmp_path / "old").write_text("kept")
    os.link(tmp_path / "old", tmp_path / "runs/second.npy")
    os.mkfifo(tmp_path / "runs/pipe.npy")
    before = files(tmp_path)
    done = run(
        "try:\n    " + save(path).replace("\n", "\n    ") + "\nexcept: print('caught')\n",
        tmp_path,
        "--allow-write=runs",
    )
    assert done.returncode in (1, 2) and done.stdout == "" and "Traceback" not in done.stderr
    assert files(tmp_path) == before and (tmp_path / "old").read_text() == "kept"


def test_what_is_written_counts_as_output(tmp_path):
    done = run(
        "import numpy as np\nfor i in range(10**6): np.save(f'runs/{i}.npy', [])",
        tmp_path,
        "--allow-write=runs",
        "--max-output=100000",
    )
    assert done.returncode == 1 and "--max-output" in done.stderr and len(files(tmp_path)) < 30


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "runs").write_text("a file")
    done = run(save("runs/x.npy"), tmp_path, "--allow-write=runs")
    assert done.returncode == 2 and "cannot write 'runs/x.npy'" in done.stderr and "Traceback" not in done.stderr
