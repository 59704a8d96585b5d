"""The yard in which attacks are let loose."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from canaries import Door, Yard


@pytest.fixture(scope="session")
def door():
    return Door()


@pytest.fixture
def yard(tmp_path, door):
    return Yard(tmp_path, door)
