"""`compare()`: where two recorded runs first differ.

print(gt.compare("old.gt", r))
"""

from __future__ import annotations

import json
import os
from typing import Any

from gradtrace.trace.record import Trace


class RunComparison:
    """The verdict of a comparison. Printed, it is the text of `gradtrace diff`; `verdict` is
    "equal", "equal within tolerance", "equal in what both keep" or "differ"; `data()` is the JSON
    document; `draw("both.html")` writes the page.
    """

    def __init__(self, verdict: Any, a: Trace, b: Trace) -> None:
        self._found = verdict
        self._a = a
        self._b = b
        self.verdict: str = verdict.verdict
        self.equal: bool = verdict.same

    def __str__(self) -> str:
        from gradtrace.views import diff
        from gradtrace.views.layout import LayoutOptions

        return diff.text(self._found, self._a, self._b, LayoutOptions()).rstrip("\n")

    def __repr__(self) -> str:
        return str(self)

    def verdict_text(self) -> str:
        """Return the verdict, and where and why the runs part, without the table of tensors."""
        from gradtrace.views import diff
        from gradtrace.views.cells import visible

        return "\n".join(
            [*diff.verdict_lines(self._found, self._a, self._b), *map(visible, self._found.notes)]
        )

    def data(self) -> dict[str, Any]:
        """Return the document of `gradtrace diff --format json`."""
        from gradtrace.views import diff

        document: dict[str, Any] = json.loads(diff.render(self._found, self._a, self._b, "json"))
        return document

    def draw(self, path: str | os.PathLike[str]) -> None:
        """Write the two programs side by side to an .html file."""
        from gradtrace import files
        from gradtrace.views.diff_page import page

        files.write_output(os.fspath(path), page(self._found, self._a, self._b).encode())


def compare(
    a: Any, b: Any, rtol: float | None = None, atol: float = 0.0, exact: bool = False
) -> RunComparison:
    """Compare two runs, each a recording, a Trace, or the name of a .gt file. Without `rtol`, the
    tolerance is that of the dtypes and the length of the sums; `exact` compares to the bit.
    UsageError if the records have no values in common.
    """
    from gradtrace.analysis.compare.tolerance import Tolerance
    from gradtrace.analysis.compare.verdict import compare as compare_traces

    first = trace_of(a)
    second = trace_of(b)
    return RunComparison(compare_traces(first, second, Tolerance(rtol, atol, exact)), first, second)


def trace_of(run: Any) -> Trace:
    """Return the Trace of a recording, of a .gt file, or a Trace itself."""
    if isinstance(run, Trace):
        return run
    if isinstance(run, (str, os.PathLike)):
        from gradtrace.trace.file import read

        with open(run, "rb") as stream:
            return read(os.fspath(run), stream).trace("all")
    trace: Trace = run.trace()
    return trace
