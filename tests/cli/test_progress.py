"""The line on stderr of what takes long: on a terminal it comes and goes, in a log it is rare."""

import io
import sys
import time

import pytest

from gradtrace.cli import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def quick(monkeypatch):
    for name in ("FIRST", "AGAIN"):
        monkeypatch.setattr(progress, name, 0.01)
    for name in ("FIRST_IN_A_LOG", "AGAIN_IN_A_LOG"):
        monkeypatch.setattr(progress, name, 0.05)


def until(stream, text):
    for _ in range(1000):
        if text in stream.getvalue():
            return
        time.sleep(0.01)
    raise AssertionError(stream.getvalue())


def test_on_a_terminal_it_goes_away(monkeypatch, quick):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.shown("graph", "drawing 5 nodes") as heard:
        until(stream, "gradtrace graph: drawing 5 nodes, 0 s")
        heard.write("a word of the program\n")
    said = stream.getvalue()
    assert progress.CLEAR + "a word of the program\n" in said
    time.sleep(0.05)
    assert stream.getvalue() == said and (said.endswith("\n") or said.endswith(progress.CLEAR))


def test_in_a_log_it_is_a_line(monkeypatch, quick):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.shown("graph", "running the program"):
        until(stream, "gradtrace graph: running the program, 0 s\n")
    assert "\r" not in stream.getvalue() and "\x1b" not in stream.getvalue()


def test_what_is_quick_says_nothing(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.shown("graph", "drawing 5 nodes"):
        pass
    assert stream.getvalue() == ""


def test_without_stderr(monkeypatch):
    started = []
    monkeypatch.setattr(sys, "stderr", None)
    monkeypatch.setattr(
        progress._thread, "start_new_thread", lambda *arguments: started.append(arguments)
    )
    with progress.shown("graph", "drawing 5 nodes") as heard:
        assert heard.write("lost") == len("lost")
        heard.flush()
    assert started == []
