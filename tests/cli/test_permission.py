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
    text = "import os\nos.makedirs('runs/one')\n" + save("runs/one/x.npy")
    done = run(text, tmp_path, "--allow-write", "runs")
    assert (done.returncode, done.stdout, done.stderr) == (0, "saved\n", "")
    assert np.load(tmp_path / "runs/one/x.npy").tolist() == [[1.0, 3.0], [2.0, 4.0]]


def test_without_the_permission_nothing_is_written(tmp_path):
    done = run(save("x.npy"), tmp_path)
    assert done.returncode == 1 and files(tmp_path) == []
    assert done.stderr.startswith(
        "<stdin>:2:1: PermissionError: [Errno 13] Permission denied: 'x.npy'; "
    )
    assert "--allow-write DIR" in done.stderr


@pytest.fixture
def folder(tmp_path):
    """A folder with links that lead out of its folder `runs`."""
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/out").symlink_to(tmp_path)
    (tmp_path / "runs/away.npy").symlink_to(tmp_path / "x.npy")
    (tmp_path / "old").write_text("kept")
    os.mkfifo(tmp_path / "runs/pipe.npy")
    return tmp_path


OUTSIDE = {
    "x.npy": "PermissionError",
    "../x.npy": "PermissionError",
    "runs/../x.npy": "PermissionError",
    "runs2/x.npy": "FileNotFoundError",
    "runs/out/x.npy": "PermissionError",
    "/tmp/x/y.npy": "FileNotFoundError",
    "runs/away.npy": "PermissionError",
    "runs/x\0.npy": "ValueError",
}


def test_what_lies_outside_is_refused(folder):
    before = files(folder)
    text = f"""
import numpy as np
for path in {list(OUTSIDE)}:
    try:
        np.save(path, np.ones(2))
    except Exception as error:
        print(type(error).__name__)
"""
    done = run(text, folder, "--allow-write=runs")
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, list(OUTSIDE.values()), "")
    assert files(folder) == before


CHANGES = {
    "link into the folder": "os.link('old', 'runs/new')",
    "link out of the folder": "open('runs/new', 'w').close() or os.link('runs/new', 'new')",
    "symbolic link": "os.symlink('../old', 'runs/new') or open('runs/new', 'w')",
    "move into the folder": "os.rename('old', 'runs/old')",
    "move out of the folder": "open('runs/new', 'w').close() or os.rename('runs/new', 'old')",
    "remove": "os.remove('old')",
    "truncate": "os.truncate('old', 0)",
    "change the mode": "os.chmod('old', 0)",
    "change the times": "os.utime('old', (0, 0))",
    "make a folder": "os.mkdir('new')",
    "remove the folder": "shutil.rmtree('runs/out')",
}


WITHOUT_EFFECT = (
    "change the mode",
    "change the times",
)  # calls that are answered and change nothing


def test_nothing_outside_is_changed(folder):
    before, state = files(folder), (folder / "old").stat()
    lines = "".join(f"attempt({name!r}, lambda: {code})\n" for name, code in CHANGES.items())
    text = f"""
import os, shutil
def attempt(name, change):
    try:
        change()
    except OSError:
        print(name)
{lines}"""
    done = run(text, folder, "--allow-write=runs")
    assert done.stdout.splitlines() == [name for name in CHANGES if name not in WITHOUT_EFFECT], (
        done
    )
    assert files(folder) in (before, sorted([*before, "runs/new"]))
    now = (folder / "old").stat()
    assert (folder / "old").read_text() == "kept"
    assert (now.st_mode, now.st_mtime, now.st_nlink) == (state.st_mode, state.st_mtime, 1)


def test_a_pipe_without_a_reader_ends_at_the_time_limit(folder):
    done = run("open('runs/pipe.npy', 'w')", folder, "--allow-write=runs", "--max-seconds=1")
    assert done.returncode == 1 and done.stderr.count("\n") <= 3
    assert "the program ran longer than 1 s; raise the limit with --max-seconds" in done.stderr


def test_what_is_written_counts_as_output(tmp_path):
    done = run(
        "import numpy as np\nfor i in range(10**6): np.save(f'runs/{i}.npy', np.ones(10000))",
        tmp_path,
        "--allow-write=runs",
        "--max-output=100000",
    )
    assert done.returncode == 1 and "--max-output" in done.stderr and "Traceback" not in done.stderr
    assert sum(path.stat().st_size for path in (tmp_path / "runs").iterdir()) < 100_000_000


def test_a_folder_that_cannot_be_created_is_an_error(tmp_path):
    (tmp_path / "runs").write_text("a file")
    done = run(save("runs/x.npy"), tmp_path, "--allow-write=runs")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.startswith("<stdin>:2:1: NotADirectoryError: ")
    assert (tmp_path / "runs").read_text() == "a file"
