"""Compare what a program printed with its record, the output that a note shows.

A difference has a kind: addresses, random numbers, another version of PyTorch, or none of these.
Numbers are compared as numbers, and blanks within brackets do not count: `[4., 8.]` equals `[ 4.0,
8.]`. All other text is compared as text.
"""

from __future__ import annotations

import re
from typing import NamedTuple

SAME = "same"
ADDRESSES = "addresses"
RANDOM = "random"
VERSION = "version"
DIFFERS = "differs"
# IPython leaves out the word `object`
ADDRESS = re.compile(r"(?: object( at ))?0x[0-9a-fA-F]+")
# a number, not part of a name
EXACT = re.compile(r"(?<![\w.])([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?![\w.])")
# a method that is written in C in PyTorch, and not here
BUILT_IN = re.compile(r"(<built-in method (\w+) of Tensor at 0xADDR>)")
NUMBER = re.compile(r"-?\d+\.?\d*(e[-+]?\d+)?")
# What older versions of PyTorch wrote, and what it is today.
OLDER = (
    (re.compile(r"<(\w+Backward)>"), r"<\g<1>0>", "grad_fn names had no number"),
    (re.compile(r"<(\w+Backward) object"), r"<\g<1>0 object", "grad_fn names had no number"),
    (re.compile(r" of (\w+Backward),"), r" of \g<1>0,", "grad_fn names had no number"),
    (re.compile(r"<MeanBackward1>"), "<MeanBackward0>", "the number of MeanBackward was 1"),
    (
        re.compile(r"CloneBackward0?>"),
        "CopyBackwards>",
        "the gradient of create_graph was a clone, it is a copy",
    ),
    (
        re.compile(
            r"Trying to backward through the graph a second time, "
            r"but the (saved intermediate results|buffers).*"
        ),
        "Trying to backward through the graph a second time (or directly access saved tensors "
        "after they have already been freed).",
        "the message about a second backward was shorter",
    ),
    *(
        (re.compile(pattern), today, "the error had another message")
        for pattern, today in (
            (r"grad has been used in an in-place", "grad is being used in an in-place"),
            (r"size mismatch, m1: .*", "mat1 and mat2 shapes cannot be multiplied"),
            (r"invalid argument 0: (Sizes of tensors must match)", r"\1"),
            (r"(Sizes of tensors must match except in dimension \d)\. Got.*", r"\1."),
            (
                r"of floating point dtype can require",
                "of floating point and complex dtype can require",
            ),
            (
                r"on Variable that requires grad. Use var\.",
                "on Tensor that requires grad. Use tensor.",
            ),
            (r"\bbool value of Tensor", "Boolean value of Tensor"),
            (r"element 0 of variables does", "element 0 of tensors does"),
            (r"RuntimeError: Assertion `cur_target.*", "IndexError: Target"),
            (
                r"RuntimeError: inverse\w*: U\((\d+),\d+\) is zero.*",
                r"_LinAlgError: linalg.inv: The diagonal element \1 is zero",
            ),
        )
    ),
    (re.compile(r"\b(\d+)L\b"), r"\1", "sizes were integers of Python 2"),
)
# What PyTorch writes today, as older versions wrote it.
EARLIER = (
    (re.compile(r"torch\.return_types\.\w+\(\nvalues=(.*?),\nindices=", re.DOTALL), r"(\1, "),
    (re.compile(r"torch\.Size\(\[(\d+)\]\)"), r"(\1,)"),
    (re.compile(r"torch\.Size\(\[(.*?)\]\)"), r"(\1)"),
)
# IPython's traceback, up to the line of the error.
TRACEBACK = re.compile(r"-{9,}\n(\w+) +Traceback \(most recent call last\)\n(?:.*\n)*?(?=\1: )")
# The first sentence of an error that PyTorch words.
SENTENCE = re.compile(
    r"(?:RuntimeError|IndexError|TypeError|_LinAlgError): (?:.*?[.!?](?=\s)|.*)", re.DOTALL
)
# A tensor as PyTorch wrote it up to 0.3: its rows, then its type and shape.
ROWS = re.compile(
    r"(?:Variable containing:\s*)?((?:[-+\d.e ]+\n\s*)+)\[torch\.\w+ of size [\dx]+\]"
)
# What IPython displays otherwise than repr: classes by their names, functions with parameters and
# without addresses, modules with their files.
DISPLAYED = (
    (re.compile(r"<class '([\w.<>]+)'>"), r"\1"),
    (
        re.compile(r"<(?:bound|built-in) method (?:[\w<>]+\.)*([\w<>]+) of .*>", re.DOTALL),
        r"<function \1>",
    ),
    (
        re.compile(
            r"<(?:built-in )?(?:function|method) (?:\w+\.|<locals>\.)*(\w+|<lambda>)"
            r"( at 0xADDR|\(.*\)[^\n]*)?>"
        ),
        r"<function \1>",
    ),
    (re.compile(r"<module '([\w.]+)' from [^>]*>"), r"<module '\1'>"),
    (re.compile(r",\n\s*"), ", "),
)


class Comparison(NamedTuple):
    """The result of a comparison: the verdict, and a description of the difference."""

    verdict: str
    detail: str


def compare(
    record: str,
    printed: str,
    draws: bool,
    integers: bool = False,
    ellipsis: bool = False,
    result: str = "",
    raised: str = "",
) -> Comparison:
    """Compare a record with the present output. With `draws` numbers may be random, with `integers`
    integers too; with `ellipsis`, ... stands for any text. The output ends with `result`, the repr
    of an expression, or with `raised`, an error that the library raised.
    """
    old = normal(record)
    new = normal(printed)
    if same(old, new) or (ellipsis and fits(old, new)):
        return Comparison(SAME, "")
    old = TRACEBACK.sub("", without_addresses(old))
    new = without_addresses(new)
    for text, name in BUILT_IN.findall(old):
        new = re.sub(rf"<bound method (Tensor\.)?{name} of tensor\(.*?\)>", text, new, flags=re.S)
    if same(old, new):
        return Comparison(ADDRESSES, "but for addresses")
    if result and shows(old, printed.removesuffix(result), result):
        return Comparison(SAME, "as IPython displays it")
    today, reasons = modern(old)
    is_older = reasons and (same(today, new) or same(today, earlier(new)))
    if is_older or is_start(old, new, without_addresses(normal(raised))):
        reason = "; ".join(reasons) or "the error's message was shorter"
        return Comparison(VERSION, f"an older PyTorch: {reason}")
    pair = EARLIER[0][0].sub(EARLIER[0][1], new)
    if pair != new and same(today, pair):
        return Comparison(VERSION, "an older PyTorch: a pair of values and indices was a tuple")
    if ROWS.search(old) and numbers(ROWS.sub(r"\1", old)) == numbers(new):
        return Comparison(VERSION, "an older PyTorch: a tensor was written as its rows")
    if draws and form(old, integers) == form(new, integers):
        return Comparison(RANDOM, "the numbers are random, their form is the same")
    error = error_of(old)
    printed_error = error_of(new)
    if error and not printed_error:
        return Comparison(
            DIFFERS, f"the record is {error}, but the code as it stands raises nothing"
        )
    return Comparison(DIFFERS, first_difference(old, new))


def normal(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))


def without_addresses(text: str) -> str:
    return ADDRESS.sub(r"\g<1>0xADDR", text)


def same(old: str, new: str) -> bool:
    """Whether two texts are equal apart from the notation of numbers and blanks within brackets."""
    if old == new:
        return True
    (texts, numbers), (others, values) = parts(old), parts(new)
    return texts == others and all(
        a == b or float(a) == float(b) for a, b in zip(numbers, values, strict=True)
    )


def parts(text: str) -> tuple[list[str], list[str]]:
    """Return the parts of a text between its numbers, and the numbers."""
    pieces = EXACT.split(unspaced(text))
    return pieces[::2], pieces[1::2]


def numbers(text: str) -> list[float]:
    return [float(number) for number in EXACT.findall(text)]


def unspaced(text: str) -> str:
    """Return the text with single blanks within brackets, and without blanks beside a bracket or a
    comma there.
    """
    if text.count("[") != text.count("]"):
        return text
    pieces = []
    depth = 0
    for piece in re.split(r"([\[\]])", text):
        depth += (piece == "[") - (piece == "]")
        if depth > 0 and piece not in "[]":
            piece = re.sub(r"\s*,\s*", ",", re.sub(r"\s+", " ", piece.strip()))
        pieces.append(piece)
    return "".join(pieces)


def fits(record: str, printed: str) -> bool:
    """Whether a text matches a record in which `...` stands for any text, as in doctest."""
    return (
        re.fullmatch(".*".join(map(re.escape, record.split("..."))), printed, re.DOTALL) is not None
    )


def modern(text: str) -> tuple[str, list[str]]:
    """Return an old record in the format of today's PyTorch, and the reasons for its changes."""
    reasons = []
    for pattern, today, reason in OLDER:
        changed = pattern.sub(today, text)
        if changed != text:
            text = changed
            reasons.append(reason)
    return text, list(dict.fromkeys(reasons))


def earlier(text: str) -> str:
    """Return a text of today with pairs and sizes as plain tuples."""
    for pattern, form in EARLIER:
        text = pattern.sub(form, text)
    return text


def shows(record: str, printed: str, result: str) -> bool:
    """Whether a record is the printed text and then IPython's display of a result."""
    head = without_addresses(normal(printed))
    lines = record.split("\n")
    start = len(head.split("\n")) if head else 0
    return same("\n".join(lines[:start]), head) and same(
        displayed("\n".join(lines[start:])), displayed(without_addresses(normal(result)))
    )


def displayed(text: str) -> str:
    """Return the text of a value in a form in which IPython's display equals the repr."""
    for pattern, form in DISPLAYED:
        text = pattern.sub(form, text)
    return text


def is_start(old: str, new: str, raised: str) -> bool:
    """Whether a record is the output up to the error that PyTorch words, and has at least the first
    sentence of its message or a known older message. A shorter one is only cut off.
    """
    sentence = SENTENCE.match(raised)
    today, _ = modern(old)
    if sentence is None or not new.startswith(today):
        return False
    last = old.split("\n")[-1]
    is_older = bool(error_of(last)) and modern(last)[0] != last
    return is_older or len(today) >= len(new) - len(raised) + sentence.end()


def form(text: str, integers: bool) -> str:
    """Return the text with every number that may be random replaced, and runs of blanks (column
    padding) by one blank.
    """

    def masked(match: re.Match[str]) -> str:
        return "N" if integers or not match[0].lstrip("-").isdigit() else match[0]

    return " ".join(NUMBER.sub(masked, text).replace("[ N", "[N").split())


def error_of(text: str) -> str:
    """Return the name of the exception in the last line; "" if there is none."""
    match = re.match(r"(\w+(?:Error|Exception|Warning))(?::|$)", text.split("\n")[-1])
    return match.group(1) if match else ""


def first_difference(old: str, new: str) -> str:
    lines = old.split("\n")
    others = new.split("\n")
    for number, (a, b) in enumerate(zip(lines, others, strict=False), 1):
        if a != b:
            return f"line {number}: recorded {a!r}, now {b!r}"
    if not new:
        return "nothing was printed"
    return f"recorded {len(lines)} lines, now {len(others)}"
