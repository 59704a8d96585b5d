"""Folders that a plain Python program may write to: how large they grow, and that the temporary one is removed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gradtrace.cli import argv, broker, grants
from gradtrace.cli.commands.map import command as map_command
from gradtrace.cli.grants import MOST_SCRATCH
from gradtrace.limits import Budget
from gradtrace.sandbox import growth, kernel, scratch

pytestmark = pytest.mark.skipif(
    not kernel.offered().stands, reason="this kernel has no Landlock or no seccomp"
)
RUNNER = Path(__file__).with_name("plain_python.py")
LIMIT = 2_000_000  # bytes


@pytest.fixture
def folders(tmp_path):
    for name in ("temporary", "out", "elsewhere"):
        (tmp_path / name).mkdir()
    return tmp_path


def command(folders, text, **grants):
    (folders / "p.py").write_text(text)
    return [sys.executable, str(RUNNER), str(folders / "p.py"), json.dumps(grants)]


def environment(folders):
    return {
        **os.environ,
        "TMPDIR": str(folders / "temporary"),
        "MPLCONFIGDIR": str(folders / "matplotlib"),
    }


def run(folders, text, **grants):
    done = subprocess.run(
        command(folders, text, **grants),
        env=environment(folders),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert list((folders / "temporary").iterdir()) == [], "the folder for temporary files stays"
    return done


def writing(folders, text):
    """Run a program that may write LIMIT bytes below the folder `out`."""
    out = str(folders / "out")
    return run(folders, text, write=out, output_bytes=LIMIT - 1_000_000, file_size=LIMIT)


def size(folder):
    """Return the size of a folder, and remove it: pytest cannot remove a very deep one."""
    found = growth.Growth(str(folder), 0, 0).initial
    scratch.remove_folder(str(folder))
    return found


HONEST = """
import os, tempfile, shutil
with tempfile.TemporaryDirectory() as folder:
    with open(f"{folder}/a", "w") as file:
        file.write("a" * 1000)
    os.replace(f"{folder}/a", f"{folder}/b")
    os.mkdir(f"{folder}/c")
    os.rename(f"{folder}/b", f"{folder}/c/b")
    assert len(open(f"{folder}/c/b").read()) == 1000
with tempfile.NamedTemporaryFile() as file:
    file.write(b"1")
with tempfile.TemporaryFile() as file:
    file.write(b"1")
before = os.umask(0)
os.umask(before)
print(sorted(os.listdir(tempfile.gettempdir())))
"""


def test_temporary_files_work_as_usual(folders):
    done = run(folders, HONEST)
    assert (done.returncode, done.stdout) == (0, "['cache', 'matplotlib']\n"), done


def test_matplotlib_draws(folders):
    pytest.importorskip("matplotlib")
    out = folders / "out"
    text = f"""
import matplotlib.pyplot as plt
plt.plot([1, 2])
plt.savefig({str(out / "f.png")!r})
"""
    done = run(folders, text, write=str(out))
    assert (done.returncode, done.stderr) == (0, ""), done
    assert (out / "f.png").read_bytes().startswith(b"\x89PNG")


def test_matplotlibs_list_of_fonts_is_copied(folders):
    (folders / "matplotlib").mkdir()
    (folders / "matplotlib" / "fontlist-v1.json").write_text("{}")
    text = "import os; print(os.listdir(os.environ['MPLCONFIGDIR']))"
    assert run(folders, text).stdout == "['fontlist-v1.json']\n"


# What programs use, beside files that they write and read: all of it must work.
USUAL = {
    "asyncio": "import asyncio\nasync def f():\n    await asyncio.sleep(0.01)\n    return 1\nprint(asyncio.run(f()))",
    "sqlite3": "import sqlite3, tempfile\nc = sqlite3.connect(tempfile.mktemp())\nc.execute('create table a (b)')\n"
    "c.execute('insert into a values (1)')\nc.commit()\nprint(c.execute('select b from a').fetchone()[0])",
    "threads": "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(4) as pool:\n"
    "    print(sum(pool.map(abs, [1])))",
    "copies": "import shutil, tempfile\nd = tempfile.mkdtemp()\nopen(d + '/a', 'w').write('1')\n"
    "for copy in (shutil.copy, shutil.copy2): copy(d + '/a', d + '/b')\nshutil.copytree(d, d + '-2')\n"
    "print(open(d + '-2/b').read())",
    "moves": "import shutil, tempfile, os\nd, e = tempfile.mkdtemp(), tempfile.mkdtemp()\nopen(d + '/a', 'w')\n"
    "shutil.move(d + '/a', e + '/a')\nprint(len(os.listdir(e)))",
    "memory map": "import numpy as np, tempfile\na = np.memmap(tempfile.mktemp(), 'i4', 'w+', shape=(9,))\na[0] = 1\n"
    "a.flush()\nprint(a[0])",
    "another folder": "import os, tempfile\nos.chdir(tempfile.gettempdir())\nopen('a', 'w').write('1')\n"
    "print(open('a').read())",
    "archive": "import zipfile, tempfile\np = tempfile.mktemp()\n"
    "with zipfile.ZipFile(p, 'w') as z: z.writestr('a', 'b')\n"
    "zipfile.ZipFile(p).extractall(tempfile.mkdtemp())\nprint(1)",
    "alarm": "import signal\nsignal.signal(signal.SIGALRM, lambda *a: None)\nsignal.alarm(9)\nprint(1)",
    "platform": "import platform, multiprocessing, os\nplatform.platform()\nmultiprocessing.cpu_count()\nprint(1)",
    "a program that is not there": "import subprocess\ntry: subprocess.run(['ls'])\nexcept OSError: print(1)",
    "no network": "import urllib.request\ntry: urllib.request.urlopen('http://example.com')\nexcept OSError: print(1)",
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", USUAL)
def test_what_programs_use_works(name, folders):
    done = run(folders, USUAL[name])
    assert (done.returncode, done.stdout) == (0, "1\n"), done


FILLING = {
    "many files": """
for number in range(3000):
    with open(f"FOLDER/{number}", "wb") as file:
        file.write(bytes(960_000))
""",
    "empty files": """
for number in range(1_000_000):
    open(f"FOLDER/{number}", "w").close()
""",
    "folders": """
import os
for number in range(1_000_000):
    os.mkdir(f"FOLDER/{number}")
""",
    "deep folders": """
import os
parent = os.open("FOLDER", os.O_RDONLY)
for number in range(100_000):
    os.mkdir("x" * 200, dir_fd=parent)
    inner = os.open("x" * 200, os.O_RDONLY, dir_fd=parent)
    os.close(parent)
    parent = inner
import time; time.sleep(15)
""",
    "an unreadable folder": """
import os, time
os.mkdir("FOLDER/a", 0)
for number in range(3000):
    with open(f"FOLDER/{number}", "wb") as file:
        file.write(bytes(960_000))
""",
    "nameless files": """
import os, tempfile
kept = []
for number in range(3000):
    kept.append(os.open("FOLDER", os.O_TMPFILE | os.O_RDWR))
    os.write(kept[-1], bytes(960_000))
""",
    "mapped files": """
import mmap, os
kept = []
for number in range(3000):
    descriptor = os.open("FOLDER", os.O_TMPFILE | os.O_RDWR)
    os.ftruncate(descriptor, 960_000)
    kept.append(mmap.mmap(descriptor, 960_000))
    os.close(descriptor)
    kept[-1][:] = bytes(960_000)
    kept[-1].madvise(mmap.MADV_DONTNEED)
""",
    "sparse files": """
for number in range(3000):
    with open(f"FOLDER/{number}", "wb") as file:
        file.truncate(960_000)
import time; time.sleep(15)
""",
    "written at once": """
for number in range(300):
    open(f"FOLDER/{number}", "wb").write(bytes(960_000))
import os; os._exit(0)
""",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FILLING)
def test_all_files_together_are_limited(name, folders):
    done = writing(folders, FILLING[name].replace("FOLDER", str(folders / "out")))
    assert done.returncode == 1, done
    assert f"the program wrote more than 1000000 bytes below '{folders}/out'" in done.stderr, done
    assert size(folders / "out") < 100 * LIMIT or name == "sparse files"  # which take up no room


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["deep folders", "nameless files", "mapped files"])
def test_temporary_files_are_limited_and_removed(name, folders):
    text = FILLING[name].replace('"FOLDER"', "os.environ['TMPDIR']").replace("960_000", "9_600_000")
    done = run(folders, text)
    assert (
        done.returncode == 1
        and f"temporary files are larger than {MOST_SCRATCH >> 20} MB" in done.stderr
    ), done


MODES = """
import os
os.umask(0)
for mode in (0o6777, 0o4755, 0o2755):
    try:
        os.close(os.open(f"{FOLDER!r}/{mode:o}", os.O_CREAT | os.O_WRONLY, mode))
    except PermissionError:
        print("refused")
os.close(os.open(f"{FOLDER!r}/plain", os.O_CREAT | os.O_WRONLY, 0o777))
os.mkdir(f"{FOLDER!r}/folder", 0o6777)
opened = os.open(f"{FOLDER!r}/plain", os.O_RDONLY)
for change in (lambda: os.chmod(f"{FOLDER!r}/plain", 0o6777), lambda: os.fchmod(opened, 0o6777)):
    change()  # without effect
    if os.stat(f"{FOLDER!r}/plain").st_mode & 0o7777 == 0o755:
        print("refused")
"""


def test_no_file_gets_rights_of_its_own(folders):
    out = folders / "out"
    before = os.umask(0o022)
    try:
        done = writing(folders, MODES.replace("{FOLDER!r}", str(out)))
    finally:
        os.umask(before)
    assert (done.returncode, done.stdout) == (0, "refused\n" * 5), done
    assert {path.name: oct(path.stat().st_mode & 0o7777) for path in out.iterdir()} == {
        "plain": "0o755",
        "folder": "0o755",
    }


def test_shared_memory_without_a_file_is_refused(folders):
    done = run(folders, "import mmap\nmmap.mmap(-1, 4096)\n")
    assert "PermissionError" in done.stderr, done


def test_nothing_is_removed_below_allow_write(folders):
    (folders / "out" / "kept").write_text("1")
    for call in ("os.remove", "os.rmdir", "lambda path: os.rename(path, path + '1')"):
        done = writing(folders, f"import os\n({call})({str(folders / 'out' / 'kept')!r})\n")
        assert "PermissionError" in done.stderr, done
    assert (folders / "out" / "kept").read_text() == "1"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_temporary_files_are_removed_after_a_signal(number, folders):
    text = (
        "import os, tempfile, time\ntempfile.mkdtemp()\nprint('on', flush=True)\ntime.sleep(30)\n"
    )
    with subprocess.Popen(
        command(folders, text),
        env=environment(folders),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "on\n"
        assert len(list((folders / "temporary").iterdir())) == 1
        process.send_signal(number)
        process.communicate(timeout=30)
    deadline = time.monotonic() + 5
    while list((folders / "temporary").iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert list((folders / "temporary").iterdir()) == []


def test_what_a_killed_command_left_is_removed_by_the_next(folders):
    text = "import time\nprint('on', flush=True)\ntime.sleep(30)\n"
    with subprocess.Popen(
        command(folders, text),
        env=environment(folders),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "on\n"
        (left,) = (folders / "temporary").iterdir()
        os.utime(left, (0, 0))
        other = scratch.create_folder(str(folders / "temporary"))
        assert left.exists(), "the folder of a running command is removed"
        process.kill()
        process.communicate(timeout=30)
    assert left.exists()
    os.utime(other, (0, 0))
    os.utime(left, (0, 0))
    deadline = time.monotonic() + 5
    while left.exists() and time.monotonic() < deadline:  # until the child has ended, too
        scratch.remove_abandoned(str(folders / "temporary"))
    assert list((folders / "temporary").iterdir()) == [Path(other)]


def test_a_folder_of_any_depth_is_removed(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    parent = os.open(folder, os.O_RDONLY)
    for number in range(3000):
        os.mkdir("x" * 200, 0o700, dir_fd=parent)
        inner = os.open("x" * 200, os.O_RDONLY, dir_fd=parent)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=inner))
        if number % 7 == 0:
            os.fchmod(inner, 0)
        os.close(parent)
        parent = inner
    os.close(parent)
    (folder / "lifted-1").mkdir()
    (folder / "link").symlink_to(tmp_path)
    scratch.remove_folder(str(folder))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_large_already_may_grow(tmp_path):
    (tmp_path / "large").write_bytes(bytes(1_000_000))
    measure = growth.Growth(str(tmp_path), 500_000, 500_000)
    assert not measure.is_over(os.getpid(), at_end=True)
    (tmp_path / "more").write_bytes(bytes(400_000))
    assert not measure.is_over(os.getpid(), at_end=True)
    (tmp_path / "too much").write_bytes(bytes(200_000))
    assert measure.is_over(os.getpid(), at_end=True)


def test_outputs_leave_room_on_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(scratch, "free_bytes", lambda place: MOST_SCRATCH)
    with (tmp_path / "out").open("w") as file:
        broker.check_room(file.fileno(), MOST_SCRATCH)
        with pytest.raises(broker.Ended):
            broker.check_room(file.fileno(), MOST_SCRATCH + 1)
    reading, writing = os.pipe()
    broker.check_room(writing, 1 << 40)  # it takes up no room
    os.close(reading)
    os.close(writing)


def test_a_table_does_not_lift_the_limit_on_files(tmp_path):
    """What the program of `map` writes to the nameless file stays below half of what is free."""
    found = argv.split(
        ["m.txt", "--grid", "x=0:1:5", "-o", str(tmp_path / "t.npz")], map_command.arity
    )
    granted = grants.of_command(found, Budget(), False)
    assert MOST_SCRATCH < granted.largest_file <= scratch.free_bytes(tmp_path)
    away = argv.split(["m.txt", "--grid", "x=0:1:5", "-o", "absent/t.npz"], map_command.arity)
    assert grants.of_command(away, Budget(), False).largest_file >= 0
