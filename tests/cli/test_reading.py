"""--allow-read PATH: a program reads the files and folders that were named, and those of --allow-write."""

import json
import os
import zipfile

import numpy as np
import pytest

from tests.cli.test_permission import run


@pytest.fixture
def folder(tmp_path):
    data = tmp_path / "data"
    (data / "sub").mkdir(parents=True)
    (data / "t.csv").write_text("a,b\n1,2.5\n3,4\n")
    (data / "c.json").write_text(json.dumps({"lr": 0.1}))
    (data / "sub" / "h.txt").write_bytes(b"hello\r\nworld\n")
    np.save(data / "x.npy", np.eye(2))
    np.savez(data / "z.npz", a=np.arange(3), b=np.ones(2))
    (tmp_path / "secret.txt").write_text("SECRET")
    return tmp_path


READERS = """
import csv, glob, json, os
import numpy as np
with open("data/t.csv", newline="") as f:
    print(next(f), list(csv.reader(f)))
with open("data/t.csv") as f:
    print([row for row in csv.DictReader(f)], f.name, f.closed)
print(f.closed, json.load(open("data/c.json")), open("data/sub/h.txt", "r", encoding="utf-8").readlines())
print(np.loadtxt("data/t.csv", delimiter=",", skiprows=1).sum(), np.genfromtxt("data/t.csv", delimiter=",")[1])
arrays = np.load("data/z.npz")
print(np.load("data/x.npy").tolist(), arrays["a"], arrays["b"])
print(os.listdir("data/sub"), os.path.isdir("data"), os.path.exists("data/no"), os.path.getsize("data/c.json"))
print(sorted(glob.glob("data/*.n*")), glob.glob("data/**/h.txt", recursive=True))
try:
    open("data/no")
except FileNotFoundError as error:
    print(error)
"""


def test_the_readers_read_what_was_named(folder):
    done = run(READERS, folder, "--allow-read", "data")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "a,b",
        " [['1', '2.5'], ['3', '4']]",
        "[{'a': '1', 'b': '2.5'}, {'a': '3', 'b': '4'}] data/t.csv False",
        "True {'lr': 0.1} ['hello\\n', 'world\\n']",
        "10.5 [1.  2.5]",
        "[[1.0, 0.0], [0.0, 1.0]] [0 1 2] [1. 1.]",
        "['h.txt'] True False 11",
        "['data/x.npy', 'data/z.npz'] ['data/sub/h.txt']",
        "[Errno 2] No such file or directory: 'data/no'",
    ]


def test_without_the_permission_the_message_names_it(folder):
    done = run("print(open('data/t.csv').read())", folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(
        "<stdin>:1:7: PermissionError: [Errno 13] Permission denied: 'data/t.csv'; "
    )
    assert "--allow-read PATH" in done.stderr


def test_several_paths_may_be_named(folder):
    options = ("--allow-read", "data/t.csv", "--allow-read", "data/sub")
    done = run(
        "print(open('data/t.csv').readline(), open('data/sub/h.txt').readline())", folder, *options
    )
    assert done.stdout == "a,b\n hello\n\n", done.stderr
    done = run("open('data/c.json')", folder, *options)
    assert (
        done.returncode == 1
        and "PermissionError: [Errno 13] Permission denied: 'data/c.json'" in done.stderr
    )


def test_a_program_reads_what_it_has_written(folder):
    program = """
import glob, json, os
import numpy as np
os.makedirs("out/logs", exist_ok=True)
with open("out/logs/a.txt", "w") as f:
    print("one", 2, file=f)
    f.writelines(["x\\n", "y"])
with open("out/logs/a.txt", "a") as f:
    json.dump({"a": 1}, f)
np.savetxt("out/m.csv", np.eye(2), delimiter=",", fmt="%.1f")
print(open("out/logs/a.txt").read(), os.listdir("out"), glob.glob("out/*/*"), os.path.isdir("out/logs"))
print(np.loadtxt("out/m.csv", delimiter=",").tolist())
"""
    done = run(program, folder, "--allow-write", "out")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "one 2\nx\ny{\"a\": 1} ['logs', 'm.csv'] ['out/logs/a.txt'] True\n[[1.0, 0.0], [0.0, 1.0]]\n"
    )
    assert (folder / "out/m.csv").read_text() == "1.0,0.0\n0.0,1.0\n"


def test_what_is_read_counts_against_the_budget(folder):
    with open(folder / "data/huge", "wb") as file:
        file.truncate(1 << 40)
    header = {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)}
    with open(folder / "data/claims.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
    for read in ("open('data/huge').read()", "np.load('data/claims.npy')"):
        program = f"import numpy as np\n{read}"
        done = run(program, folder, "--allow-read", "data", "--max-memory", "50000000")
        assert done.returncode == 1 and "--max-memory" in done.stderr, (read, done.stderr)
        assert done.stderr.startswith("<stdin>:2:1: the program needs more memory"), done.stderr


@pytest.mark.parametrize(
    "path", ["data/away", "data/up/secret.txt", "data/environment", "data/../secret.txt"]
)
def test_links_lead_nowhere(path, folder):
    (folder / "data/away").symlink_to(folder / "secret.txt")
    (folder / "data/up").symlink_to(folder)
    (folder / "data/environment").symlink_to("/proc/self/environ")
    done = run(f"print(open({path!r}).read())", folder, "--allow-read", "data")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"<stdin>:1:7: PermissionError: [Errno 13] Permission denied: '{path}'" in done.stderr


def test_checkpoints_of_pytorch(folder):
    torch = pytest.importorskip("torch")

    class Command:
        def __reduce__(self):
            return os.system, ("touch made",)

    parameter = torch.nn.Parameter(torch.arange(6.0).view(2, 3))
    optimizer = torch.optim.Adam([parameter])
    parameter.sum().backward()
    optimizer.step()
    held = {
        "state": torch.nn.Linear(2, 1).state_dict(),
        "optimizer": optimizer.state_dict(),
        "views": [
            torch.arange(10)[2:5],
            torch.ones(2).expand(3, 2),
            torch.arange(6).view(2, 3).t(),
            torch.zeros(0, 3),
        ],
        "others": ("x", None, True, 2.5, 10**12, torch.Size([1, 2]), torch.float16, parameter),
    }
    torch.save(held, folder / "data/held.pt")
    torch.save({"a": Command()}, folder / "data/command.pt")
    torch.save(torch.nn.Linear(2, 1), folder / "data/model.pt")
    done = run(
        "import torch\nprint(torch.load('data/held.pt', map_location='cpu'))",
        folder,
        "--allow-read",
        "data",
    )
    assert done.stdout == f"{torch.load(folder / 'data/held.pt')}\n", done.stderr
    for name, kind in (("command", "posix.system"), ("model", "torch.nn.modules.linear.Linear")):
        done = run(f"import torch\ntorch.load('data/{name}.pt')", folder, "--allow-read", "data")
        assert (done.returncode, done.stdout) == (1, "")
        assert "UnpicklingError: Weights only load failed" in done.stderr and kind in done.stderr, (
            done.stderr
        )
    assert not (folder / "made").exists()


def test_paths_as_objects(folder):
    program = """
from pathlib import Path
import json, os
import torch
out = Path("out") / "a"
out.mkdir(parents=True, exist_ok=True)
saved = out / "model.pt"
print(saved, saved.name, saved.stem, saved.suffix, saved.parent, saved.parts, saved.with_suffix(".txt"), repr(out))
torch.save({"x": 1}, saved)
print(torch.load(saved), saved.exists(), os.path.exists(saved), Path("data") / "t.csv" == Path("data/./t.csv"))
print((out / "log.json").write_text(json.dumps({"a": 1})), json.loads((out / "log.json").read_text()), out.is_dir())
print(sorted(Path("data").glob("*.csv")), [p.name for p in Path("data").rglob("h.txt")], Path("/a/b").parts)
with open(out / "log.json") as f:
    print(f.read(), os.path.join("x", Path("y")))
print(Path("secret").exists(), Path("data/no").is_file())
"""
    done = run(program, folder, "--allow-read", "data", "--allow-write", "out")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "out/a/model.pt model.pt model .pt out/a ('out', 'a', 'model.pt') out/a/model.txt PosixPath('out/a')",
        "{'x': 1} True True True",
        "8 {'a': 1} True",
        "[PosixPath('data/t.csv')] ['h.txt'] ('/', 'a', 'b')",
        '{"a": 1} x/y',
        "False False",
    ]
    done = run(
        "from pathlib import Path\nPath('secret.txt').read_text()", folder, "--allow-read", "data"
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "PermissionError: [Errno 13] Permission denied: 'secret.txt'" in done.stderr


def test_a_list_of_a_checkpoint_may_hold_itself(folder):
    with zipfile.ZipFile(folder / "data/held.pt", "w") as file:
        file.writestr("a/data.pkl", b"\x80\x02]q\0h\0aK\x01a.")
    done = run("import torch\nprint(torch.load('data/held.pt'))", folder, "--allow-read", "data")
    assert done.stdout == "[[...], 1]\n", done.stderr


def test_the_root_may_be_named(folder):
    done = run(f"print(open('{folder}/secret.txt').read())", folder, "--allow-read", "/")
    assert done.stdout == "SECRET\n", done.stderr


def test_numpy_names_an_empty_table_by_its_file(folder):
    (folder / "data/none").touch()
    program = "import numpy as np\nprint(np.genfromtxt('data/none'), np.loadtxt('data/none'))"
    done = run(program, folder, "--allow-read", "data")
    assert done.stdout == "[] []\n" and done.stderr.count('"data/none"') == 2, done.stderr


@pytest.mark.parametrize("header", [b"-" * 8999 + b"1", b"{'descr': ", b"(" * 5000, b"\xff", b"{}"])
def test_a_damaged_header_of_an_array_is_an_error_of_one_line(header, folder):
    (folder / "data/bad.npy").write_bytes(
        b"\x93NUMPY\x01\0" + len(header).to_bytes(2, "little") + header
    )
    done = run("import numpy as np\nnp.load('data/bad.npy')", folder, "--allow-read", "data")
    assert (done.returncode, done.stdout) == (1, "") and "Traceback" not in done.stderr
    assert done.stderr.startswith("<stdin>:2:1: "), done.stderr
