"""The fixtures of the command line's tests."""

from tests.cli.conftest import answer, gt, here

__all__ = ["answer", "gt", "here"]
