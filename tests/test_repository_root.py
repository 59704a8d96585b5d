"""What lies at the root of the repository: files that a tool or a reader looks for there, and folders, nothing else."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = """.gitignore .git-blame-ignore-revs .pre-commit-config.yaml ARCHITECTURE.md CHANGELOG.md CODE_OF_CONDUCT.md
    CONTRIBUTING.md LICENSE README.md SECURITY.md mkdocs.yml pyproject.toml uv.lock"""
FOLDERS = ".ci .github benchmarks docs examples gradtrace tests tools"


def test_the_root_holds_what_is_expected_there():
    if not (ROOT / ".git").exists():
        pytest.skip("this is not a clone")
    try:
        listed = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).split("\n")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("git does not list this clone's files")
    assert {name.partition("/")[0] for name in listed if name} == {*FILES.split(), *FOLDERS.split()}
