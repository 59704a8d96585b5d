"""Programs that reach for what is outside: each as a process among canaries, and each ends as its first line says."""

from pathlib import Path

import pytest
from canaries import kept, read_cases

CASES = [case for path in sorted((Path(__file__).parent / "escapes").glob("*.txt")) for case in read_cases(path)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nothing_gets_out(case, yard):
    done = yard.run(*case.options, text=case.text.replace("@PORT@", str(yard.door.port)))
    assert kept(done, case.promise), (done.returncode, done.stdout[-500:], done.stderr[-500:])
