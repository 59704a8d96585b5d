"""The command line in this process, as in the tests of it, and its verdict of two programs."""

import json
import os

import pytest

from tests.cli.conftest import gt, here

__all__ = ["gt", "here", "verdict"]


def record_in_torch(path):
    """Run a file in real PyTorch, here in this process, and write its record."""
    pytest.importorskip("torch")
    from gradtrace.torch import child, recording

    recorder = recording.record("summary")
    recorder._main = os.path.abspath(path)
    module = child.as_main(path.name)
    recorder._env = module.__dict__
    with recorder:
        child.execute(path.name, module)
    found = path.with_suffix(".gt")
    found.write_bytes(recording.file_content(recorder._checked()))
    return found.name


@pytest.fixture
def verdict(gt, here, monkeypatch):
    def read(engine, first, second):
        paths = [here / "a.py", here / "b.py"]
        for path, text in zip(paths, (first, second), strict=True):
            path.write_text(text)
        names = [f"./{path.name}" for path in paths]
        if engine == "torch":
            import sys

            monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
            names = [f"./{record_in_torch(path)}" for path in paths]
        result = gt("diff", *names, "--format", "json")
        assert result.exit_code in (0, 1), result.stderr
        return result.exit_code, json.loads(result.stdout)

    return read
