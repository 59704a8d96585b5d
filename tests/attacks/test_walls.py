"""Every attack on the language again, with one of the two walls switched off: each must hold without the other."""

from pathlib import Path

import pytest
from canaries import Yard, kept, read_cases

from gradtrace.sandbox import kernel
from tests.fork_server import WARM_UP

HERE = Path(__file__).parent
CASES = [case for path in sorted((HERE / "escapes").glob("*.txt")) for case in read_cases(path)]
SAMPLE = 23  # of the quick tests: each case of this number and its multiples


def sampled(number):
    return () if number % SAMPLE == 0 else pytest.mark.slow


PARAMETERS = [pytest.param(case, marks=sampled(n), id=case.name) for n, case in enumerate(CASES)]


@pytest.fixture
def yard_without(tmp_path, door, fork_server):
    return lambda module: Yard(tmp_path, door, fork_server(WARM_UP, module, HERE))


@pytest.mark.parametrize("case", PARAMETERS)
def test_the_language_holds_without_the_kernel(case, yard_without):
    yard = yard_without("no_kernel")
    done = yard.run(*case.options, text=case.text.replace("@PORT@", str(yard.door.port)))
    assert kept(done, case.promise), (done.returncode, done.stdout[-500:], done.stderr[-500:])


@pytest.mark.skipif(not kernel.offered().stands, reason="this kernel has no Landlock or no seccomp")
@pytest.mark.parametrize("case", PARAMETERS)
def test_the_kernel_holds_without_the_language(case, yard_without):
    """What the program prints and how it ends is not asked: no canary is touched or told."""
    yard = yard_without("no_language")
    options = (*case.options, "--max-seconds", "2") if case.options[:1] != ("repl",) else case.options
    yard.run(*options, text=case.text.replace("@PORT@", str(yard.door.port)), inner=())
