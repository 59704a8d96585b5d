"""`gradtrace map --scheduler`: a cluster of processes on this machine, a worker killed in the middle."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

distributed = pytest.importorskip("distributed")
ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as made:
        yield made


def start(cluster, *arguments, folder):
    command = [
        sys.executable,
        "-m",
        "gradtrace",
        "map",
        *arguments,
        "--scheduler",
        cluster.scheduler_address,
    ]
    return subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def results(folder):
    parts = json.loads((folder / "manifest.json").read_text())["parts"]
    return np.concatenate([np.load(folder / part) for part in parts])


def test_the_parts_are_those_of_one_machine(cluster, tmp_path):
    x = np.random.default_rng(0).normal(size=50_000)
    np.save(
        tmp_path / "in.npy",
        np.array([(i, v) for i, v in enumerate(x)], [("id", "i8"), ("x", "f8")]),
    )
    run = start(
        cluster,
        "exp(-x*x)*x",
        "--data",
        "in.npy",
        "--keep",
        "id",
        "-o",
        "out/",
        "--part-rows",
        "7000",
        folder=tmp_path,
    )
    _, told = run.communicate(timeout=120)
    assert run.returncode == 0, told
    found = results(tmp_path / "out")
    assert found["id"].tolist() == list(range(50_000)) and (found["y"] == np.exp(-x * x) * x).all()


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_file_of_text_is_shared_out_by_bytes(cluster, tmp_path, kind):
    n = 2000
    rows = [(i, f'a "name" of\n{i}' if i % 7 == 0 else f"ünit {i}", i / 7) for i in range(n)]
    with open(tmp_path / f"in.{kind}", "w", newline="", encoding="utf-8") as file:
        if kind == "csv":
            csv.writer(file).writerows([("id", "na\nme", "x"), *rows])
            file.write("\r\n\n")
        else:
            file.write(
                "".join(json.dumps({"id": i, "na\nme": name, "x": x}) + "\n" for i, name, x in rows)
            )
    run = start(
        cluster,
        "x*x",
        "--data",
        f"in.{kind}",
        "--keep",
        "all",
        "-o",
        "out/",
        "--part-rows",
        "300",
        "--format",
        "jsonl",
        folder=tmp_path,
    )
    _, told = run.communicate(timeout=120)
    assert run.returncode == 0, told
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    texts = [(tmp_path / "out" / part).read_text(encoding="utf-8") for part in manifest["parts"]]
    lines = [json.loads(line) for text in texts for line in text.splitlines()]
    assert manifest["rows"] == n
    assert [(int(line["id"]), line["na\nme"], line["x"], line["y"]) for line in lines] == [
        (i, name, x, x * x) for i, name, x in rows
    ]


def test_text_whose_quotes_mislead_is_refused(cluster, tmp_path):
    (tmp_path / "in.csv").write_text("x,name\n" + "".join(f'{i},5" pipe\n' for i in range(11)))
    run = start(
        cluster, "x*x", "--data", "in.csv", "-o", "out/", "--part-rows", "4", folder=tmp_path
    )
    _, told = run.communicate(timeout=120)
    assert run.returncode == 2 and "rows instead of" in told and "without --scheduler" in told
    assert not (tmp_path / "out/manifest.json").exists()


def test_a_worker_is_killed_in_the_middle(cluster, tmp_path):
    n = 4_000_000
    run = start(
        cluster,
        "x*0+" + "+".join(["sin(x)"] * 8),
        "--grid",
        f"x=0:{n - 1}:{n}",
        "-o",
        "out/",
        "--part-rows",
        "50000",
        "--format",
        "npy",
        folder=tmp_path,
    )
    while run.poll() is None and len(list((tmp_path / "out").glob("part-*"))) < 5:
        time.sleep(0.02)
    victim = next(iter(cluster.workers.values()))
    os.kill(victim.process.pid if hasattr(victim, "process") else victim.pid, signal.SIGKILL)
    _, told = run.communicate(timeout=300)
    assert run.returncode == 0, told
    assert results(tmp_path / "out")["x"].tolist() == list(range(n))
    assert not [name for name in os.listdir(tmp_path / "out") if name.endswith(".tmp")]


def test_no_cluster_there(tmp_path):
    command = [
        sys.executable,
        "-m",
        "gradtrace",
        "map",
        "x*x",
        "--grid",
        "x=0:1:9",
        "-o",
        "out/",
        "--scheduler",
        "tcp://127.0.0.1:9",
    ]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2 and "no scheduler at 'tcp://127.0.0.1:9'" in done.stderr
