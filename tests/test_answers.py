"""`python -m tools.answers` archives the answers about programs and finds where two archives differ."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run(*arguments):
    command = [sys.executable, "-m", "tools.answers", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def changed(archive, copy, name, change):
    """Write a copy of an archive in which one document is changed."""
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(copy, "w") as new:
        for path in old.namelist():
            document = json.loads(old.read(path))
            if path == f"{name}.json":
                change(document)
            if path == "hashes.json":
                document[name] = "another"
            new.writestr(path, json.dumps(document))


def test_two_archives_are_compared_by_kinds_of_differences(tmp_path):
    before, after = tmp_path / "before.zip", tmp_path / "after.zip"
    done = run(
        "write", before, "--only", "examples/hooks", "examples/nan", "pairs/planted another eps"
    )
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(before) as file:
        answers = json.loads(file.read("examples/hooks.json"))
    assert set(answers) == {"run", "trace", "why", "stats", "graph"}
    assert all(answer["code"] == 0 and answer["document"] for answer in answers.values())
    done = run("compare", before, before)
    assert (done.returncode, done.stdout.splitlines()[-1][:14]) == (0, "0 differences ")

    def change(answers):
        answers["why"]["document"]["answers"][0]["cause"] = "another"
        answers["run"]["code"] = 1

    changed(before, after, "examples/hooks", change)
    done = run("compare", before, after)
    assert done.returncode == 1
    assert "why.document.answers[].cause: 1 in 1 programs" in done.stdout
    assert "run.code: 1 in 1 programs\n    examples/hooks: 0 -> 1\n" in done.stdout
