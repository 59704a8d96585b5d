"""A pytest plugin: `pytest --gradtrace` explains failing tests of PyTorch code.

The call of each test is recorded by `gradtrace.torch.record`. The report of a test that fails gets
a section "gradtrace" with the answer of `why`: which operation made the first NaN, what cut the
graph, why backward raised, each with its line. Without the option nothing is imported or recorded.
A test that makes its own recording has the marker `no_gradtrace`, since recordings do not nest.

Usually only failing tests are run again with it: `pytest --last-failed --gradtrace`.

The fixture `gradtrace_golden` compares a step with a record that is stored beside the test, which
`pytest --gradtrace-update` writes.
"""

from __future__ import annotations

import functools
import hashlib
import re
import sys
from collections.abc import Callable, Generator
from typing import Any

import pytest

LEVELS = ("structure", "summary", "values")
FOLDER = "gradtrace_golden"  # beside a test's file, and the name of the fixture
ANSWER: pytest.StashKey[str] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gradtrace")
    group.addoption(
        "--gradtrace-update",
        action="store_true",
        help=f"Write the records of the fixture {FOLDER}.",
    )
    group.addoption(
        "--gradtrace",
        action="store_true",
        help="Record each test's PyTorch operations, and explain those that fail.",
    )
    group.addoption(
        "--gradtrace-level", choices=LEVELS, default="summary", help="What is recorded (summary)."
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "no_gradtrace: do not record this test under --gradtrace.")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Record the call of a test, and keep the answer of `why` if it raises."""
    is_wanted = pyfuncitem.config.getoption("--gradtrace")
    has_recording = (
        pyfuncitem.get_closest_marker("no_gradtrace") or FOLDER in pyfuncitem.fixturenames
    )
    if not is_wanted or has_recording or "torch" not in sys.modules:
        return (yield)
    from gradtrace.torch import record

    hide_own_frames()
    recorded = record(pyfuncitem.config.getoption("--gradtrace-level"))
    recorded._main = str(pyfuncitem.path)
    recorded._env = {}
    # A failed assertion is raised after the recording: it is not an error of what was recorded.
    failed: BaseException | None = None
    try:
        with recorded:
            try:
                return (yield)
            except (Exception, pytest.fail.Exception) as error:
                recorded._env = variables(error, pyfuncitem.function)
                if not isinstance(error, (AssertionError, pytest.fail.Exception)):
                    raise
                failed = error
    except Exception:
        pyfuncitem.stash[ANSWER] = answer(recorded)
        raise
    pyfuncitem.stash[ANSWER] = answer(recorded)
    assert failed is not None
    raise failed


@functools.cache
def hide_own_frames() -> None:
    """Leave the recorder's frames out of the tests' tracebacks; `--full-trace` shows them."""
    for name, module in list(sys.modules.items()):
        if name.startswith("gradtrace.torch."):
            vars(module)["__tracebackhide__"] = True


@pytest.fixture
def gradtrace_golden(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Compare a step with the record of it that is stored beside the test; `--gradtrace-update`
    writes the record.

        def test_step(gradtrace_golden):
            with gradtrace_golden():
                model(x).sum().backward()

    A test with several steps gives each a name. The tolerance is that of `gradtrace.torch.compare`.
    """
    from gradtrace.torch.golden import GoldenRecord

    fail = functools.partial(pytest.fail, pytrace=False)
    folder = request.path.parent / FOLDER / request.path.stem
    test = request.node.nodeid.partition("::")[2]
    used: set[str] = set()

    def golden(name: str = "", **tolerance: Any) -> GoldenRecord:
        if name in used:
            raise ValueError(
                f"this test has a step named {name!r} already; give each step a name of its own"
            )
        used.add(name)
        whole = f"{test}--{name}" if name else test
        stem = re.sub(r"[^\w.\-\[\]]+", "_", whole)
        if stem != whole:  # another test could have the same stem
            stem += f"-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"
        return GoldenRecord(
            folder / f"{stem}.gt", request.config.getoption("--gradtrace-update"), fail, tolerance
        )

    return golden


def variables(error: BaseException, function: Any) -> dict[str, Any]:
    """Return the variables of the test's own frame, or of the module that defines it."""
    from gradtrace.torch.recording import variables_of

    code = getattr(function, "__code__", None)
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code is code:
            return variables_of(traceback.tb_frame)
        traceback = traceback.tb_next
    return dict(getattr(function, "__globals__", {}))


def answer(recorded: Any) -> str:
    """Return what `why` says of a recording; "" if it has no operation."""
    try:
        return str(recorded.why()) if recorded.trace().operations else ""
    except Exception as error:  # the report must show the test's own failure
        return f"gradtrace could not explain this test ({type(error).__name__}: {error})"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the answer to the report of a test that failed."""
    report = yield
    text = item.stash.get(ANSWER, "")
    if text and report.when == "call" and report.failed:
        report.sections.append(("gradtrace", text))
    return report
