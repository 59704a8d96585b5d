"""What tests of PyTorch share."""

import os
import sys

import pytest


@pytest.fixture(autouse=True)
def distributions_check_their_arguments():
    """torch.compile and torch.export turn these checks off for the rest of the process."""
    yield
    if "torch.distributions" in sys.modules:
        sys.modules["torch.distributions"].Distribution.set_default_validate_args(True)


@pytest.fixture(scope="module")
def forkable():
    """Skip where autograd of this process has started threads (a deep reentrant backward), which no fork survives."""
    torch = pytest.importorskip("torch")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            torch.set_num_threads(1)
            torch.ones(1, requires_grad=True).mul(2).backward()
            status = 0
        finally:
            os._exit(status)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        pytest.skip("a test before this one made autograd start threads: run this file by itself")
