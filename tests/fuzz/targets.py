"""What is tried: how an input is made,
and what is done with it. Whatever but an error of ours comes out is a crash."""

from __future__ import annotations

import io
import json
import math
import struct
import sys
import zipfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from gradtrace.errors import GradtraceError
from gradtrace.limits import Budget
from tests.fuzz import formats, markup, mutate, programs, protocol

TINY = Budget(memory_bytes=20_000_000, output_bytes=100_000, seconds=2.0)
EXPRESSIONS = [
    "(x+w)*(w+1)",
    "1,2,3",
    "1,2;3,4",
    "[[1,2],[3,4]]",
    "randn(3,4)",
    "x**2 + sin(x)",
    "-1e-3",
    "nan",
    "inf",
    "True",
    "ones(2, 3) @ ones(3)",
    "[i for i in range(3)]",
    "f'{1:.2f}'",
    "(lambda a: a)(2)",
    "torch.eye(2)",
    "1 if 2 else 3",
    "sum([1, 2])",
    "{'a': 1}['a']",
    "'%d' % 3",
    "x.sum().backward()",
    "sorted([3, 1], key=lambda v: -v)",
]


class Target(NamedTuple):
    """`make(rng)` an input; `run(input)`."""

    make: Callable[[Random], Any]
    run: Callable[[Any], None]


# ---- text


def parse_program(text: str) -> None:
    from gradtrace.program.parse import parse

    with suppress(GradtraceError):
        parse(text)


def value(text: str) -> None:
    """A value as `--x VALUE` has it; never a file, for those have targets of their own."""
    from gradtrace.cli import inputs, values

    if text.strip().startswith("@"):
        return
    with suppress(GradtraceError, SystemExit):
        raw = values.read(text, "--x", small_evaluator)
        values.tensor(raw, "float64", True)
        inputs.check_known({}, {}, "-s")


def small_evaluator(text: str, option: str) -> Any:
    """The evaluator of values; only expressions, since programs would run in this process."""
    from gradtrace.cli import values
    from gradtrace.errors import UsageError
    from gradtrace.program.grammar import is_expression
    from gradtrace.program.parse import parse
    from gradtrace.program.run import run

    try:
        program = parse(text, name=option)
        if program.inputs or not is_expression(program.tree):
            raise UsageError("not defined")
        return run(program, budget=TINY, stdout=io.StringIO(), stderr=io.StringIO()).root
    except GradtraceError as error:
        raise values.wrong(option, text, error) from error


# ---- files


@cache
def arrays() -> tuple[list[bytes], list[bytes]]:
    """Files of numpy's: .npy, .npz."""
    import numpy as np

    made = [
        np.float64(3.0),
        np.arange(3.0),
        np.ones((2, 3), "float32"),
        np.zeros(0),
        np.array([True, False]),
        np.array(["a", "b"]),
        np.arange(4, dtype=">i4"),
        np.ones((2, 2), order="F"),
        np.array([1 + 2j]),
        np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
        np.array([1], "M8[s]"),
        np.ones((3, 2)),
    ]
    single, several = [], []
    for array in made:
        out = io.BytesIO()
        np.save(out, array, allow_pickle=False)
        single.append(out.getvalue())
        for save in (np.savez, np.savez_compressed):
            out = io.BytesIO()
            save(out, x=array, w=np.arange(3.0))
            several.append(out.getvalue())
    return single, several


def file_of(seeds: list[bytes], *suffixes: str) -> Callable[[Random], tuple[str, bytes, str]]:
    return lambda rng: (
        "f" + rng.choice(suffixes),
        mutate.data(rng, seeds),
        rng.choice(("", "", "x", "w", "a", "0")),
    )


def read(case: tuple[str, bytes, str]) -> None:
    """What `--x @FILE#KEY` reads, and the tensor made of it."""
    from gradtrace.cli import datafiles, values

    name, content, key = case
    with suppress(GradtraceError):
        raw = datafiles.reader_of(name, "--x")(datafiles.File(content, name, key, "--x"))
        values.tensor(raw, "float64", True)
    with suppress(GradtraceError):
        datafiles.read_text_or_binary(datafiles.File(content, "<stdin>", key, "--x"))


def stream(case: tuple[str, bytes, str]) -> None:
    """What `map --data FILE` reads."""
    from gradtrace.batch import columns, formats

    name, content, _ = case
    Path(name).write_bytes(content)
    with suppress(GradtraceError):
        reader = formats.reader(name, None, None)
        for chunk in reader.chunks(2):
            for column in chunk.columns:
                with suppress(GradtraceError):
                    columns.numbers(chunk.columns[column], column, None, "float64")
            reader.line(chunk.first)


CSV = [
    b"x,w\n1,2\n3,4\n",
    b"1,2\n3,4\n",
    b"1;2\n3;4\n",
    b"1\t2\n",
    b"a\n1\n\n2\n",
    b'"x y","w"\n"1","2"\n',
    b"# note\n1 2 3\n",
    b"x,w\r\n1,nan\r\n",
    b"1e400,-inf\n",
    b"x\n[1,2]\n",
    b"\xef\xbb\xbfx,w\n1,2\n",
]
JSON = [
    b"[1, 2, 3]",
    b"[[1,2],[3,4]]",
    b'{"x": 2, "w": [1, "NaN"]}',
    b"3",
    b'{"x": 2, "w": 1}\n{"x": 3, "w": 2}\n',
    b"null",
    b'"Infinity"',
    b"[true, false]",
    b"[" * 50 + b"1" + b"]" * 50,
    b"1e400",
    b'{"x": {"y": 1}}',
    b"[1, [2]]",
]


# ---- the command line


COMMANDS = [
    "eval",
    "run",
    "graph",
    "page",
    "trace",
    "paths",
    "why",
    "check",
    "jacobian",
    "hessian",
    "stats",
    "diff",
    "ops",
    "plan",
    "map",
]
SOURCES = [
    "(x+w)*(w+1)",
    "x*x",
    "x",
    "-",
    "./absent.txt",
    "sin(x",
    "x; y = x*2; y.sum()",
    "relu(x @ ones(3, 2))",
    "1/0",
    "'a'",
    "",
    "x.sum() + w",
    "import os",
    "f(x)",
    "[x, w]",
    "1",
    "λ + x",
]
FLAGS = [
    "--x",
    "--w",
    "--x=2",
    "--w=1,2,3",
    "-s",
    "x=3",
    "--no-grad",
    "--dtype",
    "float32",
    "--seed",
    "3",
    "--format",
    "json",
    "csv",
    "md",
    "latex",
    "value",
    "jsonl",
    "table",
    "--get",
    "x.grad",
    "w",
    "--output",
    "y",
    "--backward",
    "2",
    "--create-graph",
    "--retain-graph",
    "--grad-tensors",
    "--inputs",
    "--retain-grad",
    "all",
    "--zero-grad",
    "--no-backward",
    "--help",
    "--help-all",
    "-h",
    "--errors",
    "--color",
    "always",
    "never",
    "--max-memory",
    "0",
    "-1",
    "1e3",
    "--debug",
    "--depth",
    "--expand",
    "--style",
    "autograd",
    "function",
    "--theme",
    "dark",
    "--levels",
    "--derivatives",
    "--",
    "-e",
    "--params",
    "--data",
    "x=0:1:3",
    "2",
    "1,2",
    "[[1,2],[3,4]]",
    "nan",
    "@nothing.npy",
    "@-",
    "randn(2)",
    "--all",
    "--follow",
    "--wrt",
    "--version",
    "-",
    "--quiet",
    "--eps",
    "1e-6",
    "--loops",
    "--λ",
    "--x-",
    "=",
    "--=",
    "-x",
    "--no-legend",
    "--direction",
    "down",
    "--in",
]


def arguments(rng: Random) -> list[str]:
    made = [rng.choice(COMMANDS), rng.choice(SOURCES)]
    made += [rng.choice(FLAGS) for _ in range(rng.randint(0, 6))]
    if rng.random() < 0.4:
        at = rng.randrange(len(made))
        made[at] = mutate.text(rng, [made[at] or "x"], FLAGS, 200).replace("\0", "")
    if rng.random() < 0.2:
        rng.shuffle(made)
    if rng.random() < 0.5:
        made += ["--x", rng.choice(("2", "1,2,3", "ones(2,2)")), "--w", "1"]
    return made


def command(args: list[str]) -> None:
    """A whole command line in this process: exit code 0, 1 or 2, and no traceback."""
    from gradtrace.cli import main, source

    # surrogates that no command line has, and what would write or wait
    if any(a.startswith(("-o", "--tensorboard", "--install", "--serve", "--watch")) for a in args):
        return
    args = [
        a.encode("utf-8", "surrogateescape" if a.isascii() else "replace").decode(
            "utf-8", "replace"
        )
        for a in args
    ]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(b"x*2\n"), "utf-8")
    limits = ["--max-seconds", "3"] if args[:1] != ["ops"] and "--" not in args else []
    try:
        with redirect_stdout(out), redirect_stderr(err):
            source.forget()
            status = main.run([*args, *limits])
    finally:
        sys.stdin = before
    told = err.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]
    assert status in (0, 1, 2), (status, told)
    assert "--debug" in args or "Traceback (most" not in told, told
    assert status == 0 or told or out.buffer.getvalue(), "no word of what is wrong"  # type: ignore[attr-defined]


# ---- what is written


def writers(text: str) -> None:
    """An expression's trace in every form that needs no drawing."""
    from xml.etree import ElementTree

    from gradtrace.cli import options, session
    from gradtrace.program.grammar import is_expression
    from gradtrace.program.parse import parse
    from gradtrace.views import data, dot, exchange, model, tree

    try:
        with redirect_stderr(io.StringIO()):
            program = parse(text)
            if not is_expression(program.tree):
                return
            request = options.Request(program, options.Inputs(seed=1), budget=TINY)
            trace = session.record(request, session.Wanted(everything=True))
    except (GradtraceError, SystemExit):
        return
    for name in options.VALUE_FORMATS[1:]:
        made = data.render(trace, name)
        made.encode()
    json.loads(data.render(trace, "json"), parse_constant=forbidden)
    look = dot.DotOptions()
    drawn = model.model(trace)
    balanced(dot.text_of(drawn, look))
    json.loads(exchange.node_link(drawn), parse_constant=forbidden)
    ElementTree.fromstring(exchange.graphml(drawn))
    exchange.mermaid(drawn)
    tree.render(drawn)


def forbidden(name: str) -> None:
    raise AssertionError(f"{name} in JSON")


def balanced(text: str) -> None:
    """Quoted texts of DOT end where they should."""
    inside = False
    before = ""
    for c in text:
        if c == '"' and before != "\\":
            inside = not inside
        before = "" if before == "\\" else c
    assert not inside, "a quote stays open"


def numbers(value: tuple[str, Any]) -> None:
    """A number or array as text: read back it is the same; JSON is strict; the short forms are short."""
    import numpy as np

    from gradtrace.trace.record import Value
    from gradtrace.views import numbers as written

    dtype, found = value
    with np.errstate(all="ignore"):
        array = np.array(found).astype(dtype)
    one = Value((), dtype, array.item()) if array.ndim == 0 else Value(array.shape, dtype, array)
    text = written.full(one)
    back = np.array(eval(text, {"nan": math.nan, "inf": math.inf}), dtype).reshape(array.shape)
    assert np.array_equal(back, array, equal_nan=dtype.startswith("float")), text
    json.dumps(written.jsonable(one), allow_nan=False)
    assert len(written.short(one)) < 120
    written.sparkline(one)
    written.stats(one)


def some_number(rng: Random) -> Any:
    kind = rng.randrange(4)
    if kind == 0:
        return struct.unpack("<d", rng.randbytes(8))[0]
    if kind == 1:
        return rng.choice(
            (
                0.0,
                -0.0,
                1.0,
                math.nan,
                math.inf,
                -math.inf,
                5e-324,
                1.7976931348623157e308,
                0.1,
                1 / 3,
            )
        )
    return (
        rng.uniform(-1, 1) * 10.0 ** rng.randint(-320, 308)
        if kind == 2
        else float(rng.randint(-300, 300))
    )


def some_array(rng: Random) -> tuple[str, Any]:
    import numpy as np

    shape = tuple(rng.randint(0, 4) for _ in range(rng.choice((0, 0, 1, 1, 2, 3))))
    flat = [some_number(rng) for _ in range(int(np.prod(shape)))]
    array = np.array(flat, "float64").reshape(shape)
    return rng.choice(("float64", "float32", "float16", "int64", "int8", "uint8", "bool")), array


def oversized(rng: Random) -> tuple[str, bytes, str]:
    """Archives whose headers promise what is not there."""
    out = io.BytesIO()
    with zipfile.ZipFile(
        out, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    ) as archive:
        for name in rng.sample(("x.npy", "w.npy", "../x.npy", "x", "é.npy", ""), rng.randint(0, 3)):
            archive.writestr(name or "n", mutate.data(rng, arrays()[0]))
    return (
        "f.npz",
        out.getvalue() if rng.random() < 0.7 else mutate.data(rng, [out.getvalue()]),
        rng.choice(("", "x", "w")),
    )


def rarely(*makers: Callable[[Random], Any]) -> Callable[[Random], Any]:
    """One of several makers for each input."""
    return lambda rng: rng.choice(makers)(rng)


def any_text(rng: Random) -> str:
    return mutate.text(rng, programs.seeds(), programs.words())


def expression(rng: Random) -> str:
    return mutate.text(rng, EXPRESSIONS, programs.words(), 300)


TARGETS = {
    "parse": Target(rarely(any_text, any_text, expression, programs.program), parse_program),
    "value": Target(expression, value),
    "npy": Target(
        rarely(file_of(arrays()[0], ".npy"), file_of(arrays()[1], ".npz"), oversized), read
    ),
    "csv": Target(file_of(CSV, ".csv", ".tsv", ".txt"), read),
    "json": Target(file_of(JSON, ".json"), read),
    "tables": Target(
        rarely(
            file_of(CSV, ".csv", ".tsv"),
            file_of(JSON, ".jsonl"),
            file_of(arrays()[0], ".npy"),
            file_of(arrays()[1], ".npz"),
            oversized,
        ),
        stream,
    ),
    "options": Target(arguments, command),
    "writers": Target(expression, writers),
    "numbers": Target(some_array, numbers),
    "protocol": Target(protocol.make, protocol.run),
    "markup": Target(markup.make, markup.run),
    **{name: Target(make, run) for name, (make, run) in formats.MAKERS.items()},
}
