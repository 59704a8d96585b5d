"""The command line in this process, as in the tests of it."""

from tests.cli.conftest import gt, here

__all__ = ["gt", "here"]
