"""What makes the whole run of the tests fast, and the same everywhere: see also `fork_server`."""

import compileall
import gc
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.fork_server import ForkServer

ROOT = Path(__file__).resolve().parents[1]

# How long one example takes says more about the machine than about the code.
settings.register_profile("gradtrace", deadline=None)
settings.load_profile("gradtrace")


def pytest_configure(config: pytest.Config) -> None:
    """Compiles the package once, and takes an ignored SIGINT back.

    Under PYTHONDONTWRITEBYTECODE each of many hundred processes would compile again. A shell starts its background
    jobs with SIGINT ignored, which every process that a test starts would inherit: no Ctrl-C would reach it.
    """
    if (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(ROOT / "gradtrace", quiet=2)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks as slow all cases but a sample of those tests that repeat one rule over many.

    `pytest.mark.sampled(n)`: n cases of the test are quick, evenly spaced in the order of its table. A run that chooses
    cases, by `-k` or by a name after `::`, has all that it chose.
    """
    if config.option.keyword or any("::" in argument for argument in config.args):
        return
    tests: dict[tuple[Path, str], list[pytest.Item]] = {}
    for item in items:
        if (
            item.get_closest_marker("sampled") is not None
            and item.get_closest_marker("slow") is None
        ):
            name = item.nodeid.partition("[")[0]
            tests.setdefault((item.path, name), []).append(item)
    for cases in tests.values():
        marker = cases[0].get_closest_marker("sampled")
        assert marker is not None
        count = marker.args[0]
        quick = {position * len(cases) // count for position in range(min(count, len(cases)))}
        for position, case in enumerate(cases):
            if len(cases) > count and position not in quick:
                case.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """Leaves what pytest has collected out of each later garbage collection: it is large, and it stays."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def fork_server() -> Iterator[Callable[..., ForkServer]]:
    """fork_server(warm_up, ...) -> a ForkServer made with these arguments, the same one for the same arguments."""
    servers: dict[tuple[object, ...], ForkServer] = {}

    def of(*args: object) -> ForkServer:
        if args not in servers:
            servers[args] = ForkServer(*args)  # type: ignore[arg-type]
        return servers[args]

    yield of
    for server in servers.values():
        server.close()


@pytest.fixture(params=["fork", pytest.param("process", marks=pytest.mark.slow)])
def is_forked(request: pytest.FixtureRequest) -> bool:
    """Whether a command runs in a fork (fast), or in a process started from nothing (`-m slow`)."""
    return bool(request.param == "fork")


@pytest.fixture(params=["own", pytest.param("torch", marks=pytest.mark.slow)])
def by_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., str]:
    """by_engine(command, text, ...) -> the output of a command about a program, with one engine or the other."""
    engine = []
    if request.param == "torch":
        pytest.importorskip("torch")
        engine = ["--engine", "torch"]

    def run(command: str, text: str, *rest: str) -> str:
        (tmp_path / "program.py").write_text(text)
        line = [sys.executable, "-m", "gradtrace", command, "program.py", *rest, *engine]
        answer = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert answer.returncode in (0, 1), answer.stderr
        return answer.stdout

    return run
