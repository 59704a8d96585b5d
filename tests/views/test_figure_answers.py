"""Answers of the process that draws figures: forged ones, and what the real process gets."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from gradtrace.lang.budget import Meter
from gradtrace.lang.figures import Drawings
from gradtrace.limits import Budget
from gradtrace.views import figure_process, figures
from gradtrace.views.figure_process import Answer, draw_calls

PNG, SVG, PDF = b"\x89PNG\r\n\x1a\n" + bytes(20), b"<?xml version='1.0'?>\n<svg/>", b"%PDF-1.4"
PICTURE, ERROR, END = range(3)
PLT = "matplotlib.pyplot"


def call(name: str, *args: object, **kwargs: object) -> dict[str, object]:
    return {"root": PLT, "path": [[".", name]], "args": list(args), "kwargs": kwargs}


CALLS = [call("plot", [1]), call("savefig", "a.png"), call("figure"), call("show"), call("savefig", "b.svg")]


def frame(number: int, kind: int, content: bytes = b"") -> bytes:
    return struct.pack("!IBI", number, kind, len(content)) + content


A, SHOWN, B = frame(1, PICTURE, PNG), frame(3, PICTURE, PNG), frame(4, PICTURE, SVG)
LAST = frame(5, END)


def write(folder: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes, finished: bool = True, **how: object) -> str:
    """Draw CALLS with a worker that answers so; return its messages."""
    calls = how.pop("calls", CALLS)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(figures, "is_installed", lambda: True)
    monkeypatch.setattr(figures, "draw_calls", lambda job, seconds, most: Answer(answer, finished))
    drawings = Drawings()
    drawings.calls = calls
    drawings.meter = Meter(Budget(allow_write="out", **how))
    told: list[str] = []
    figures.draw(drawings, told.append)
    return "".join(told)


def written(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "out").iterdir()) if (folder / "out").exists() else []


def test_names_come_from_the_calls(tmp_path, monkeypatch):
    told = write(tmp_path, monkeypatch, A + SHOWN + SHOWN + B + LAST)
    assert written(tmp_path) == ["a.png", "b.svg", "figure_1.png", "figure_2.png"]
    assert told.count("wrote") == 4


def test_an_error_has_its_place_among_the_answers(tmp_path, monkeypatch):
    told = write(tmp_path, monkeypatch, frame(0, ERROR, b"plot: bad\x1b[2J\n") + A + LAST)
    assert "figures: plot: bad [2J \n" in told and written(tmp_path) == ["a.png"]


FORGED = {
    "out of order": B + A + LAST,
    "twice": A + A + LAST,
    "a second answer after an error": frame(1, ERROR, b"x") + A + LAST,
    "more pictures than figures": A + SHOWN * 5 + LAST,
    "a picture of a call that makes none": frame(0, PICTURE, PNG) + LAST,
    "a call that there is not": A + frame(9, PICTURE, PNG) + LAST,
    "an unknown kind": A + frame(1, 7, PNG) + LAST,
    "another format": frame(1, PICTURE, SVG) + LAST,
    "no picture": frame(1, PICTURE, b"#!/bin/sh") + LAST,
    "markup that is not SVG": frame(4, PICTURE, b"<?xml version='1.0'?><html>") + LAST,
    "a long error": frame(0, ERROR, b"x" * 3000) + LAST,
    "no end": A,
    "a cut end": A + LAST[:5],
    "a wrong end": A + frame(4, END),
    "more after the end": A + LAST + B,
    "a length without bytes": struct.pack("!IBI", 1, PICTURE, 4_000_000_000) + PNG,
    "text": b'{"file": "made.png", "data": "iVBORw0KGgo="}\n',
    "nothing": b"",
}


@pytest.mark.parametrize("name", FORGED)
def test_a_wrong_answer_writes_nothing(name, tmp_path, monkeypatch):
    told = write(tmp_path, monkeypatch, FORGED[name])
    assert "gave a wrong answer" in told and "wrote" not in told
    assert written(tmp_path) == []


def test_more_bytes_than_may_be_written_write_nothing(tmp_path, monkeypatch):
    told = write(tmp_path, monkeypatch, frame(1, PICTURE, PNG + bytes(2_000_000)) + LAST, output_bytes=10_000)
    assert "raise the limit with --max-output" in told and written(tmp_path) == []


def test_a_worker_that_was_stopped_keeps_what_it_had_drawn(tmp_path, monkeypatch):
    told = write(tmp_path, monkeypatch, A + B[:-3], finished=False)
    assert "did not finish" in told and written(tmp_path) == ["a.png"]


@pytest.mark.parametrize(
    ("args", "kwargs", "ending"),
    [
        (["a.png"], {}, ("a.png", "png")),
        (["a"], {}, ("a.png", "png")),
        (["a.JPEG"], {}, ("a.JPEG", "jpg")),
        (["a"], {"format": "svg"}, ("a.svg", "svg")),
        (["a.html"], {"format": "svg"}, ("a.html.svg", "svg")),
        ([], {"fname": "a.pdf"}, ("a.pdf", "pdf")),
        (["a.exe"], {}, ("a.exe.exe", "exe")),
    ],
)
def test_a_file_is_named_after_its_format(args, kwargs, ending):
    assert figures.saved_file(call("savefig", *args, **kwargs)) == ending


def test_an_unknown_format_is_an_error(tmp_path, monkeypatch):
    told = write(tmp_path, monkeypatch, frame(1, END), calls=[call("savefig", "a.exe")])
    assert "the format 'exe' is none of png, svg, pdf, jpg" in told and written(tmp_path) == []


def test_an_index_called_savefig_saves_nothing():
    assert figures.endings_of([{"root": PLT, "path": [["[", "savefig"]], "args": [1], "kwargs": {}}]) == {}


# ---- the process

TELLING = """import os, sys, json
said = {"descriptors": sorted(int(n) for n in os.listdir("/proc/self/fd")), "names": sorted(os.environ)}
print('{"file": "made.png"}'); print("forged", file=sys.stderr)
os.write(int(sys.argv[1]), json.dumps([said, sys.argv[1], json.load(sys.stdin)]).encode())
"""


def worker(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "worker.py").write_text(text)
    monkeypatch.setattr(figure_process, "WORKER", (str(folder / "worker.py"),))


def test_the_worker_has_its_channel_and_little_else(tmp_path, monkeypatch, capfd):
    worker(TELLING, tmp_path, monkeypatch)
    monkeypatch.setenv("SECRET", "1")
    kept = os.open(tmp_path / "worker.py", os.O_RDONLY)
    os.set_inheritable(kept, True)
    answer = draw_calls(b"[1, 2]", 30, 10_000)
    os.close(kept)
    import json

    said, channel, job = json.loads(answer.content)
    assert answer.finished and job == [1, 2] and int(channel) > 2
    listing = 1  # the descriptor by which the worker lists them
    assert len(said["descriptors"]) == 4 + listing and {0, 1, 2, int(channel)} < set(said["descriptors"])
    assert set(said["names"]) <= {*figure_process.ENVIRONMENT, "MPLBACKEND", "OPENBLAS_NUM_THREADS", "LC_CTYPE"}
    assert capfd.readouterr() == ("", "")


ENDS = {
    "sleeps": "import time; time.sleep(600)",
    "closes its channel and sleeps": "import os, sys, time; os.close(int(sys.argv[1])); time.sleep(600)",
    "fails": "1 / 0",
    "writes without end": "import os, sys\nwhile True: os.write(int(sys.argv[1]), b'x' * 1000)",
}


@pytest.mark.parametrize("name", ENDS)
def test_a_worker_that_does_not_end_well(name, tmp_path, monkeypatch):
    worker(ENDS[name], tmp_path, monkeypatch)
    answer = draw_calls(b"[]", 0.5, 10_000)
    assert not answer.finished and len(answer.content) < 10_000 + figure_process.PIECE + 1


def test_both_sides_write_the_same_headers():
    import importlib.util

    spec = importlib.util.spec_from_file_location("figure_worker", Path(figures.__file__).with_name("figure_worker.py"))
    real = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(real)
    names = ("PICTURE", "ERROR", "END")
    assert real.HEADER.format == figures.HEADER.format and sorted(real.TYPES) == sorted(figures.STARTS)
    assert [getattr(real, name) for name in names] == [getattr(figures, name) for name in names]
