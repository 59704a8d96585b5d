"""The yard in which attacks are let loose."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from canaries import Door, Yard

from tests.fork_server import WARM_UP


@pytest.fixture(scope="session")
def door():
    return Door()


@pytest.fixture
def server(request, is_forked, fork_server):
    """The fork server that a module's WARM_UP and PRELOADED ask for; None for processes started from nothing."""
    preloaded = getattr(request.module, "PRELOADED", ())
    return (
        fork_server(getattr(request.module, "WARM_UP", WARM_UP), *preloaded) if is_forked else None
    )


@pytest.fixture
def yard(tmp_path, door, server):
    return Yard(tmp_path, door, server)
