"""Doctest blocks as cells, one for each example: the code after `>>> ` and `... `, and the expected
output.

As in the standard library's doctest, an example without expected output must print nothing, only
the last line of a traceback is compared, `<BLANKLINE>` stands for an empty line, and `# doctest:
+SKIP` and `+ELLIPSIS` are supported.
"""

from __future__ import annotations

import doctest
from collections.abc import Iterator

from gradtrace.documents.cells import Cell


def examples(text: str, label: str, line: int, indent: str) -> Iterator[Cell]:
    """Return the examples of a block that begins on `line` of the file; `indent` is the text before
    each of its lines.
    """
    try:
        doctests = doctest.DocTestParser().get_examples(text, label)
    except ValueError as error:
        yield Cell(label, line, text, skipped=f"it is not a doctest: {error}")
        return
    for number, example in enumerate(doctests, 1):
        start = line + example.lineno
        name = f"{label}.{number}" if len(doctests) > 1 else label
        if example.options.get(doctest.SKIP):
            yield Cell(name, start, example.source, skipped="it is marked +SKIP")
            continue
        first = start - 1 + example.source.count("\n")
        want = example.want if example.exc_msg is None else example.exc_msg
        yield Cell(
            name,
            start,
            example.source,
            want.replace("<BLANKLINE>", ""),
            (first, first + example.want.count("\n")),
            prefix=indent + " " * example.indent,
            doctest=True,
            ellipsis=bool(example.options.get(doctest.ELLIPSIS)),
        )
