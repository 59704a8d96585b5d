"""`gradtrace map`: tables in and out, bad rows, parts, pipes."""

import gc
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
BLACK_SCHOLES = ROOT / "examples" / "black_scholes.txt"


def rows(text):
    names, *lines = [line.split(",") for line in text.splitlines()]
    return names, [[float(c) if c else None for c in line] for line in lines]


def test_a_pipe(answer):
    text = answer("map", "(x+w)*(w+1)", "--data", "-", input="x,w\n2,1\n3,4\n")
    assert text == "x,w,y,dy/dx,dy/dw\n2,1,6.0,2.0,5.0\n3,4,35.0,5.0,12.0\n"


def test_every_row_is_what_eval_says(answer, here):
    found = rows(answer("map", BLACK_SCHOLES, "--grid", "S=80:120:4", "--grid", "sigma=0.1,0.3"))
    assert found[0] == ["S", "sigma", "price", "dprice/dS", "dprice/dsigma"] and len(found[1]) == 8
    for s, sigma, *rest in found[1]:
        for want, path in zip(rest, ("price", "S.grad", "sigma.grad"), strict=True):
            got = float(answer("eval", BLACK_SCHOLES, "--S", s, "--sigma", sigma, "--get", path))
            assert got == pytest.approx(want, rel=1e-13)


def test_second_derivatives(answer):
    text = answer("map", "x**2*w", "--data", "-", "--order", 2, input="x,w\n3,5\n")
    assert rows(text) == (
        ["x", "w", "y", "dy/dx", "dy/dw", "d2y/dx2", "d2y/dxdw", "d2y/dw2"],
        [[3, 5, 45, 30, 9, 10, 6, 0]],
    )


def test_columns_by_name_and_constants(answer):
    text = answer(
        "map",
        "m*v**2/2",
        "--data",
        "-",
        "--m",
        "col:mass",
        "-s",
        "v=3",
        "--grad",
        "v",
        "--keep",
        "id,mass",
        input="id,mass\na,2\nb,4\n",
    )
    assert text == "id,mass,y,dy/dv\na,2,9.0,6.0\nb,4,18.0,12.0\n"


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "npy", "npz"])
def test_formats_carry_every_bit(answer, here, kind):
    rng = np.random.default_rng(0)
    x = rng.normal(size=1000)
    np.savez("in.npz", x=x, w=x[::-1])
    answer("map", "x*sin(w)", "--data", "in.npz", "-o", f"one.{kind}")
    answer("map", "x*sin(w)", "--data", f"one.{kind}", "--keep", "none", "-o", "two.npz")
    found = np.load("two.npz")
    assert (found["y"] == x * np.sin(x[::-1])).all() and (found["dy/dx"] == np.sin(x[::-1])).all()


def test_parquet_and_feather(answer, here):
    pytest.importorskip("pyarrow")
    x = np.random.default_rng(0).normal(size=1000)
    np.savez("in.npz", x=x, v=np.stack([x, -x], 1))
    for kind in ("parquet", "feather", "arrow"):
        answer("map", "(x*v).sum() + v[0]", "--data", "in.npz", "-o", f"one.{kind}")
        answer(
            "map", "(x*v).sum() + v[0]", "--data", f"one.{kind}", "--keep", "none", "-o", "two.npz"
        )
        assert (np.load("two.npz")["dy/dv"] == np.stack([x + 1, x], 1)).all()
    (here / "folder").mkdir()
    for k in range(3):
        np.savez("part.npz", x=x[k::3])
        answer("map", "x*x", "--data", "part.npz", "-o", f"folder/{k}.parquet")
    answer("map", "x*x", "--data", "folder", "--keep", "none", "-o", "all.npy")
    assert np.load("all.npy")["y"].tolist() == [v * v for k in range(3) for v in x[k::3]]


def test_parquet_without_pyarrow_says_what_to_install(refusal, here):
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        (here / "a.parquet").write_bytes(b"")
        # Python 3.11 cannot parse a module (pytest does, when it is imported) while a collected file is warned of.
        gc.collect()
        assert "gradtrace[arrow]" in refusal("map", "x*x", "--data", "a.parquet")[1]


def test_vectors(answer):
    lines = '{"x": [1, 2], "w": 3}\n{"x": [0, 5], "w": -1}\n'
    found = [
        json.loads(line)
        for line in answer(
            "map", "(x*w).sum()", "--data", "-", "--data-format", "jsonl", input=lines
        ).splitlines()
    ]
    assert found[0] == {"x": [1, 2], "w": 3, "y": 9.0, "dy/dx": [3.0, 3.0], "dy/dw": 3.0}
    text = answer(
        "map",
        "(x*w).sum()",
        "--data",
        "-",
        "--data-format",
        "jsonl",
        "--format",
        "csv",
        "--keep",
        "none",
        input=lines,
    )
    assert text.splitlines()[0] == "y,dy/dx[0],dy/dx[1],dy/dw"


def test_infinities_and_nan_are_numbers(answer):
    text = answer(
        "map",
        "1/x",
        "--data",
        "-",
        "--format",
        "jsonl",
        "--keep",
        "none",
        input="x\n0\nnan\n-inf\n",
    )
    assert [json.loads(line)["y"] for line in text.splitlines()] == ["Infinity", "NaN", -0.0]


BAD = "x,w\n2,1\nabc,4\n3,\n1,1\n"


def test_a_bad_row_is_refused_by_its_number(refusal):
    code, told = refusal("map", "x*w", "--data", "-", input=BAD)
    assert code == 2 and "row 2: the column 'x' 'abc' is not a number" in told


@pytest.mark.parametrize(
    ("how", "want"),
    [
        ("null", "x,w,y,dy/dx,dy/dw\n2,1,2.0,1.0,2.0\nabc,4,,,\n3,,,,\n1,1,1.0,1.0,1.0\n"),
        ("skip", "x,w,y,dy/dx,dy/dw\n2,1,2.0,1.0,2.0\n1,1,1.0,1.0,1.0\n"),
    ],
)
def test_bad_rows_left_empty_or_out(gt, how, want):
    done = gt("map", "x*w", "--data", "-", "--on-error", how, input=BAD)
    assert done.stdout == want and done.exit_code == 0
    assert (
        "row 2" in done.stderr
        and "row 3: the column 'w' is missing" in done.stderr
        and "2 bad rows" in done.stderr
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["x*q", "--data", "in.csv"], "the table has no column 'q'"),
        (["x*w", "--data", "in.csv", "--x", "col:nope"], "no column 'nope'"),
        (["x*w", "--data", "none.csv"], "no such file"),
        (["x*w", "--data", "in.xyz"], "no such file"),
        (["x*w"], "no table given"),
        (["x*w", "--data", "in.csv", "-o", "out.what"], "cannot tell the format"),
        (["x*w", "--data", "in.csv", "--resume"], "--resume takes up a folder"),
        (["x*w", "--data", "in.csv", "--keep", "zz"], "no column 'zz'"),
        (["x*w", "--grid", "x=1:2"], "is not a grid"),
        (["y = x*w\nif y > 1:\n    y = y*2\ny", "--data", "in.csv"], "cannot be frozen"),
    ],
)
def test_what_is_wrong_is_told(refusal, here, arguments, told):
    (here / "in.csv").write_text("x,w\n1,2\n")
    assert told in refusal("map", *arguments)[1]


def test_the_output_is_there_as_a_whole_or_not(refusal, here):
    (here / "in.csv").write_text("x\n1\n2\nbad\n")
    refusal("map", "x*x", "--data", "in.csv", "-o", "out.csv")
    assert sorted(os.listdir(here)) == ["in.csv"]


def test_an_empty_table_has_a_head(answer):
    assert answer("map", "x*w", "--data", "-", input="x,w\n") == "x,w,y,dy/dx,dy/dw\n"


def test_workers_make_no_difference(answer, here):
    np.savez("in.npz", x=np.random.default_rng(0).normal(size=300_000))
    for n in (1, 3):
        answer("map", "exp(-x*x)*erf(x)", "--data", "in.npz", "-o", f"{n}.npz", "--workers", n)
    one, three = np.load("1.npz"), np.load("3.npz")
    assert all((one[name] == three[name]).all() for name in one.files)


# ---- odd tables


@pytest.mark.parametrize(
    ("table", "want"),
    [
        ("x,w\r\n2,1\r\n3,4\r\n", "x,w,y\n2,1,2.0\n3,4,12.0\n"),
        ('"x" , w\n"2","1"\n\n\n3,4', "x,w,y\n2,1,2.0\n3,4,12.0\n"),
        ("\n\nx,w\n2,1\n", "x,w,y\n2,1,2.0\n"),
        ("\ufeffx,w\n2,1\n", "x,w,y\n2,1,2.0\n"),
        ('x,w\n"2\n",1\n', 'x,w,y\n"2\n",1,2.0\n'),
        ("x,w\n-Inf, 2 \nnan,1\n", "x,w,y\n-Inf, 2 ,-inf\nnan,1,nan\n"),
        ("x,w\n", "x,w,y\n"),
    ],
)
def test_tables_as_they_come(answer, table, want):
    assert answer("map", "x*w", "--data", "-", "--order", 0, input=table) == want


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("", "empty; its first line must name the columns"),
        ("\n\n", "is empty"),
        ("x,w,x\n1,2,3\n", "two columns are called 'x'"),
        ("price,w\n1,2\n", "no column 'x'; its columns are price, w"),
        ("x;w\n1;2\n", "its only column is 'x;w': cells are separated by commas"),
        ("x,w\n1,2\n1,2,3\n", "row 2 has 3 cells, the table 2 columns"),
        ("x,w\n1,2\n1\n", "row 2: the column 'w' is missing"),
        ("x,w\n0x10,2\n", "row 1: the column 'x' '0x10' is not a number"),
        ('x,w\n"1,5",2\n', "row 1: the column 'x' '1,5' is not a number"),
    ],
)
def test_tables_that_are_wrong(refusal, table, told):
    code, said = refusal("map", "x*w", "--data", "-", input=table)
    assert code == 2 and told in said and "Traceback" not in said


def test_a_column_nearly_of_that_name(refusal):
    assert "did you mean price?" in refusal("map", "prise*2", "--data", "-", input="price\n1\n")[1]


def test_thousands_of_columns(answer):
    names = [f"c{i}" for i in range(5000)]
    text = "".join(",".join(str(i * k) for i in range(5000)) + "\n" for k in range(3))
    found = answer(
        "map",
        "a*b",
        "--a",
        "col:c17",
        "--b",
        "col:c4999",
        "--order",
        0,
        "--keep",
        "none",
        "--data",
        "-",
        input=",".join(names) + "\n" + text,
    )
    assert found == "y\n0.0\n84983.0\n339932.0\n"


def test_rows_that_are_no_rows_are_bad_rows(gt):
    done = gt(
        "map",
        "x*w",
        "--data",
        "-",
        "--order",
        0,
        "--on-error",
        "skip",
        input="x,w\n1,2\n1,2,3\n4,5\n",
    )
    assert done.stdout == "x,w,y\n1,2,2.0\n4,5,20.0\n"
    assert "row 2 has 3 cells" in done.stderr and "1 bad row left out" in done.stderr
    lines = '{"x": 1}\nnonsense\n[1]\n{"x": null}\n{"x": 5}\n'
    done = gt(
        "map",
        "x*2",
        "--data",
        "-",
        "--data-format",
        "jsonl",
        "--on-error",
        "null",
        "--order",
        0,
        input=lines,
    )
    assert [json.loads(line)["y"] for line in done.stdout.splitlines()] == [
        2.0,
        None,
        None,
        None,
        10.0,
    ]
    assert "row 2 is not JSON" in done.stderr and "row 3 is not an object" in done.stderr


@pytest.mark.parametrize("kind", ["jsonl", "npz"])
def test_text_becomes_numbers_where_the_output_has_such(gt, here, kind):
    (here / "in.csv").write_text("id,x\n0,0.1\n1,no\n2,0.3\n")
    gt(
        "map",
        "x*2",
        "--data",
        "in.csv",
        "-o",
        f"out.{kind}",
        "--on-error",
        "null",
        "--dtype",
        "float32",
    )
    if kind == "npz":
        np.testing.assert_array_equal(np.load("out.npz")["x"], [0.1, np.nan, 0.3])
    else:
        assert [
            json.loads(line)["x"] for line in (here / "out.jsonl").read_text().splitlines()
        ] == [0.1, None, 0.3]


def test_progress_is_shown_where_it_is_asked_for(gt, here):
    (here / "in.csv").write_text("x\n" + "1\n" * 100)
    assert gt("map", "x*2", "--data", "in.csv", "-o", "out.csv").stderr == ""
    told = gt("map", "x*2", "--data", "in.csv", "-o", "out.csv", "--progress").stderr
    assert "100 rows (100%)" in told and "rows/s, 0 s left" in told
    assert (
        "100 rows, "
        in gt("map", "x*2", "--data", "-", "--progress", input="x\n" + "1\n" * 100).stderr
    )


# ---- parts


def test_parts_and_their_manifest(answer, refusal, here):
    (here / "in.csv").write_text("x\n" + "".join(f"{i}\n" for i in range(25)))
    answer("map", "x*x", "--data", "in.csv", "-o", "out/", "--part-rows", 10)
    manifest = json.loads((here / "out/manifest.json").read_text())
    assert manifest["rows"] == 25
    assert manifest["parts"] == [
        f"part-{a:012d}-{b:012d}.csv" for a, b in ((0, 10), (10, 20), (20, 25))
    ]
    assert (
        "--resume" in refusal("map", "x*x", "--data", "in.csv", "-o", "out/", "--part-rows", 10)[1]
    )
    told = refusal("map", "x*x*x", "--data", "in.csv", "-o", "out/", "--part-rows", 10, "--resume")[
        1
    ]
    assert "another run: its program differs" in told


@pytest.mark.slow
def test_killed_at_any_moment_and_resumed_every_row_is_there_once(clean, here):
    """Twenty moments of a run's life, from its start to its end; a complete folder is started from the beginning."""
    n = 60_000
    (here / "in.csv").write_text("id,x\n" + "".join(f"{i},{i / 7}\n" for i in range(n)))
    command = [
        sys.executable,
        "-m",
        "gradtrace",
        "map",
        "exp(-x*x)*x",
        "--data",
        "in.csv",
        "--keep",
        "id",
        "--part-rows",
        "1000",
        "--resume",
        "-o",
    ]
    start = time.monotonic()
    subprocess.run([*command, "whole/"], env=clean(), check=True, timeout=60)
    life = time.monotonic() - start
    chance, folders = random.Random(5), ["out0"]
    for k in range(20):
        process = subprocess.Popen(
            [*command, folders[-1] + "/"], env=clean(), stderr=subprocess.DEVNULL
        )
        time.sleep(chance.uniform(0, life))
        process.send_signal(signal.SIGKILL)
        process.wait()
        if (here / folders[-1] / "manifest.json").exists():
            folders.append(f"out{k + 1}")
    for folder in folders:
        subprocess.run([*command, folder + "/"], env=clean(), check=True, timeout=60)
        parts = json.loads((here / folder / "manifest.json").read_text())["parts"]
        ids = [
            int(line.split(",")[0])
            for part in parts
            for line in (here / folder / part).read_text().split()[1:]
        ]
        assert ids == list(range(n))
        assert all(
            (here / folder / part).read_bytes() == (here / "whole" / part).read_bytes()
            for part in parts
        )
        assert set(os.listdir(here / folder)) == {"fingerprint.json", "manifest.json", *parts}


def test_a_full_disk_leaves_whole_parts_and_the_run_is_taken_up_again(clean, here):
    resource = pytest.importorskip("resource")
    (here / "in.csv").write_text("id,x\n" + "".join(f"{i},{i / 7}\n" for i in range(5000)))
    command = [
        sys.executable,
        "-m",
        "gradtrace",
        "map",
        "x*x",
        "--data",
        "in.csv",
        "--keep",
        "id",
        "-o",
        "out/",
        "--part-rows",
        "1000",
        "--resume",
    ]

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))

    full = subprocess.run(
        command, env=clean(), capture_output=True, text=True, preexec_fn=small_files
    )
    assert full.returncode == 1 and "too large" in full.stderr and "Traceback" not in full.stderr
    assert not (here / "out/manifest.json").exists()
    subprocess.run(command, env=clean(), check=True, timeout=60)
    parts = json.loads((here / "out/manifest.json").read_text())["parts"]
    ids = [
        int(line.split(",")[0])
        for part in parts
        for line in (here / "out" / part).read_text().splitlines()[1:]
    ]
    assert ids == list(range(5000)) and not [
        name for name in os.listdir(here / "out") if name.endswith(".tmp")
    ]


def test_several_outputs(answer):
    text = answer(
        "map",
        "a = x*x\nb = a*x",
        "--data",
        "-",
        "--output",
        "a,b",
        "--keep",
        "none",
        input="x\n3\n",
    )
    assert text == "a,da/dx,b,db/dx\n9.0,6.0,27.0,27.0\n"


def test_a_folder_that_is_not_there(refusal):
    told = refusal("map", "x*x", "--grid", "x=0:1:3", "-o", "nowhere/out.csv")[1]
    assert "cannot write 'nowhere/out.csv'" in told and ".tmp" not in told


def test_what_was_there_is_no_work_of_this_run(gt, here):
    (here / "in.csv").write_text("x\n" + "".join(f"{i}\n" for i in range(40)) + "no\n")
    command = [
        "map",
        "x*x",
        "--data",
        "in.csv",
        "-o",
        "out/",
        "--part-rows",
        "10",
        "--on-error",
        "skip",
        "--progress",
    ]
    gt(*command)
    assert json.loads((here / "out/manifest.json").read_text())["bad_rows"] == 1
    os.unlink(here / "out" / "manifest.json")
    done = gt(*command, "--resume")
    assert "41 rows (100%), 0 rows/s" in done.stderr
    assert (
        json.loads((here / "out/manifest.json").read_text())["bad_rows"] is None
    )  # neither a run nor a manifest tells


def commands_of(guide):
    blocks = [
        block.split("```")[0] for block in guide.read_text(encoding="utf-8").split("```sh\n")[1:]
    ]
    return [
        line
        for block in blocks
        for line in block.splitlines()
        if "1000" not in line and "model" not in line
    ]


@pytest.mark.parametrize("command", commands_of(ROOT / "docs" / "map.md"))
def test_the_guides_commands(clean, here, command):
    """Those of small tables, as they stand in docs/map.md."""
    os.symlink(ROOT / "examples", here / "examples")
    run = command.replace("gradtrace", f"{sys.executable} -m gradtrace")
    done = subprocess.run(run, shell=True, env=clean(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 2


def test_the_result_has_a_free_name_and_identifiers_are_kept(answer, here):
    (here / "t.csv").write_text("user_id,x,y,note\na,1,2,p\nb,3,4,q\n")
    rows = answer("map", "x*y", "--data", "t.csv").splitlines()
    assert rows[0] == "user_id,x,y,result,dresult/dx,dresult/dy"
    assert rows[1].startswith("a,") and [float(v) for v in rows[2].split(",")[1:]] == [
        3,
        4,
        12,
        4,
        3,
    ]
    assert (
        answer("map", "x*y", "--data", "t.csv", "--keep", "x")
        .splitlines()[0]
        .startswith("x,result,")
    )


def test_many_columns(gt, here):
    names = ["x", "w", *(f"c{number}" for number in range(40_000))]
    (here / "a.csv").write_text(",".join(names) + "\n" + ",".join(["1.5"] * len(names)) + "\n")
    start = time.perf_counter()
    done = gt("map", "x*w", "--data", "a.csv")
    assert (done.exit_code, done.stdout) == (0, "x,w,y,dy/dx,dy/dw\n1.5,1.5,2.25,1.5,1.5\n")
    assert time.perf_counter() - start < 5
    done = gt("map", "x*w", "--data", "a.csv", "--keep", "all", "-o", "o.npy")
    assert done.exit_code == 2 and "has no room for these columns" in done.stderr
    (here / "b.csv").write_text(",".join([*names, "c39999"]) + "\n")
    assert "two columns are called 'c39999'" in gt("map", "x*w", "--data", "b.csv").stderr
