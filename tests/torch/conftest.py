"""What tests of PyTorch share."""

import sys

import pytest


@pytest.fixture(autouse=True)
def distributions_check_their_arguments():
    """torch.compile and torch.export turn these checks off for the rest of the process."""
    yield
    if "torch.distributions" in sys.modules:
        sys.modules["torch.distributions"].Distribution.set_default_validate_args(True)
