"""Expressions: what is one, what it gives, its places and errors, and its limits."""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import sys
import time
import types
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gradtrace
from gradtrace.engine.data.state import state
from gradtrace.errors import GradtraceError, ProgramError, UnknownNameError
from gradtrace.program.expression import OPEN, is_expression
from gradtrace.program.grammar import LEFT_TO_PROGRAMS
from gradtrace.program.mathematics import value_of_name
from gradtrace.program.names import CALCULATING, CONSTANTS, FORMULAS, MATHEMATICS
from gradtrace.program.parse import parse
from gradtrace.program.result import Run
from gradtrace.program.run import run as run_program
from gradtrace.trace.keeper import Keeper


def leaf(data: object) -> gradtrace.Tensor:
    return gradtrace.tensor(data, dtype=gradtrace.float64, requires_grad=True)


def run(text: str, **options: Any) -> Run:
    inputs = {"x": leaf(2.0), "w": leaf(3.0), "m": leaf([[1.0, 2.0], [3.0, 4.0]])}
    program = parse(text)
    assert is_expression(program.tree), text
    variables = {variable.name: inputs[variable.name] for variable in program.inputs}
    return run_program(program, variables, **options)


# ---- what is an expression

EXPRESSIONS = [
    "(x+w)*(w+1)",
    "sin(x)**2 + cos(x)**2 if x > 0 else -x",
    "not x and w or 1",
    "0 < x <= 1",
    "y = x @ w; y.sum(dim=0)",
    "a = b = x*w\na + b",
    "F.mse_loss(x, w, reduction='sum')",
    "torch.nn.functional.relu(x) + torch.linalg.norm(m) + torch.pi + math.pi",
    "torch.autograd.grad(x*x, x)[0]",
    "m[0, 1:, None, ...]",
    "[x, (w, 2)]",
    "x.T.shape[0]",
    "zeros(2, dtype=torch.float32)",
    "w: leaf = 1.0\nx: data = [1, 2]\n(w*x).sum()",
    "'''a text'''\nx*w",
    "2(x+1)",
    "sni(x)",
    "open - close",
    "",
]
PROGRAMS = [
    "import torch",
    "lambda: x",
    "[i for i in x]",
    "f'{x}'",
    "(y := x)",
    "for i in x: i",
    "'{}'.format(x)",
    "'%9d' % 1",
    "('a' * 9).join([x])",
    "x.__class__",
    "x._data",
    "_x*2",
    "__import__('os')",
    "print(x)",
    "open('x')",
    "eval('x')",
    "getattr(x, 'y')",
    "type(x)",
    "f(*x)",
    "f(**x)",
    "f(a=1, a=2)",
    "{1: x}",
    "{x}",
    "a, b = x",
    "x[0] = 1",
    "x.grad = None",
    "y += x",
    "del x",
    "x: int = 1",
    "torch",
    "torch.save(x, 'f')",
    "torch.load('f')",
    "torch.nn",
    "torch.nn.Linear(1, 2)",
    "nn.Linear(1, 2)",
    "nn.functional.relu(x)",
    "torch.os",
    "torch.utils.data",
    "math.os",
    "F.os",
    "x.numpy()",
    "x.register_hook(w)",
    "torch.sin(x, out=w)",
    "b'a'",
    "2j",
    "range(3)",
    "map(sin, x)",
]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions(text: str) -> None:
    assert is_expression(parse(text).tree)


@pytest.mark.parametrize("text", [text for text in PROGRAMS if text != "f(a=1, a=2)"])
def test_all_else_is_a_program(text: str) -> None:
    assert not is_expression(parse(text).tree)


def test_every_name_that_an_expression_may_use_has_a_value() -> None:
    for name in {*MATHEMATICS, *CALCULATING, *CONSTANTS}:
        value_of_name(name)


# ---- values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(x+w)*(w+1)", 20.0),
        ("y = x*w\nz = y + 1", 7.0),
        ("y = x*w\ny + 1\nz = 3", 7.0),
        ("'''text'''\ny = x*w", 6.0),
        ("y = z = x*w", 6.0),
        ("2 + 3", 5),
        ("[x, w]", [2.0, 3.0]),
        ("max(2, 3) + abs(-1) + pow(2, 3) + round(1.4)", 13),
        ("maximum(x, w)", 3.0),
        ("sin(0) + exp(0)", 1.0),
        ("x if x > w else w", 3.0),
        ("0 < x < w < 3", False),
        ("x < w and w", 3.0),
        ("x > w or x", 2.0),
        ("not x", False),
        ("~(1 << 3) | 3 & 2 ^ 1", -9),
        ("7 // 2 % 2 / 2", 0.5),
        ("len([1, 2]) * (1, 2).count(1)", 2),
        ("m[1, 0] + m[-1][1:][0]", 7.0),
        ("m.T @ m", [[10.0, 14.0], [14.0, 20.0]]),
        ("m.max(dim=0).values", [3.0, 4.0]),
        ("m.shape[0]", 2),
        ("x is x, 1 in [1, 2], 3 not in (1, 2)", (True, True, True)),
        ("where(m > 2, m, 0).sum()", 7.0),
        ("math.sqrt(4.0) * torch.e / e", 2.0),
        ("(x*x).backward(); x.grad", 4.0),
        ("torch.autograd.grad(x**3, x)[0]", 12.0),
        ("F.mse_loss(x, w, reduction='sum')", 1.0),
        ("+".join(["x"] * 3000), 6000.0),
        ("x" + ".T" * 900, 2.0),
        ("-" * 500 + "x", 2.0),
        ("sin(" * 80 + "0" + ")" * 80, 0.0),
    ],
)
def test_values(text: str, value: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        root = run(text).root
    numbers = [part.item() for part in root] if isinstance(root, list) else root
    assert (numbers.tolist() if isinstance(numbers, gradtrace.Tensor) else numbers) == value


def test_an_empty_text_has_no_value() -> None:
    assert run("").root is None and run("'text'").root == "text"


def test_ten_thousand_terms_on_the_command_line() -> None:
    done = gt("eval", "+".join(["x"] * 10_000), "--x", "2", "--get", "x.grad")
    assert (done.returncode, done.stdout) in ((0, "10000.0\n"), (2, "")), done.stderr
    assert done.returncode == 0 or "nested too deeply" in done.stderr


NUMBER = st.sampled_from(["0", "1", "2", "3", "0.5", "1e-3", "-1.5"])
ATOM = st.one_of(
    NUMBER, st.sampled_from(["x", "w", "m", "m[0]", "m[:, 1]", "x.detach()", "pi", "[1.0, x]"])
)
BINARY = st.sampled_from(
    ["+", "-", "*", "/", "%", "**", "@", "<", "<=", "==", "!=", ">", "and", "or"]
)
CALL = st.sampled_from(
    [
        "sin({})",
        "exp({})",
        "abs({})",
        "({}).sum()",
        "relu({})",
        "max({})",
        "sum({})",
        "(-{})",
        "(not {})",
        "float({})",
    ]
)


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, BINARY, inner).map(lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"),
        st.tuples(CALL, inner).map(lambda parts: parts[0].format(parts[1])),
        st.tuples(inner, inner, inner).map(
            lambda parts: f"({parts[0]} if {parts[1]} else {parts[2]})"
        ),
        st.tuples(inner, inner, inner).map(
            lambda parts: f"({parts[0]} < {parts[1]} <= {parts[2]})"
        ),
        st.tuples(inner, inner).map(lambda parts: f"torch.maximum({parts[0]}, {parts[1]})"),
    )


def outcome(compute: Any) -> Any:
    """The type, value and gradients of a result, or the message of an error."""
    inputs = {"x": leaf(2.0), "w": leaf(-3.0), "m": leaf([[1.0, -2.0], [0.0, 4.0]])}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = compute(inputs)
        except GradtraceError as error:
            return error.message
        except Exception as error:
            return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        with contextlib.suppress(RuntimeError):  # a function without a derivative
            if isinstance(value, gradtrace.Tensor) and value.requires_grad:
                value.sum().backward()
    return type(value), repr(value), [repr(tensor.grad) for tensor in inputs.values()]


@given(st.recursive(ATOM, larger, max_leaves=8))
def test_expressions_evaluate_as_python_does(text: str) -> None:
    program = parse(text)
    names = {
        name: value_of_name(name)
        for name in ("sin", "exp", "abs", "relu", "max", "sum", "float", "pi")
    }

    def by_python(inputs: Any) -> Any:
        gradtrace.set_default_dtype(gradtrace.float64)
        try:
            return eval(text, {**names, **inputs, "torch": gradtrace})
        finally:
            gradtrace.set_default_dtype(gradtrace.float32)

    by_walk, expected = (
        outcome(lambda inputs: run_program(program, inputs).root),
        outcome(by_python),
    )
    if not (isinstance(expected, str) and "TypeError" in expected and "TypeError" in by_walk):
        assert by_walk == expected


def test_expressions_evaluate_as_pytorch_does() -> None:
    torch = pytest.importorskip("torch")
    for text in (
        "(x+w)*(w+1)",
        "sin(x)**2/w",
        "relu(x) - sigmoid(w)",
        "(m @ m).sum()*x",
        "log(x)**w",
        "m[0].prod()",
    ):
        run_inputs = {"x": leaf(2.0), "w": leaf(3.0), "m": leaf([[1.0, 2.0], [3.0, 4.0]])}
        theirs = {
            name: torch.tensor(tensor.tolist(), dtype=torch.float64)
            for name, tensor in run_inputs.items()
        }
        ours = run_program(parse(text), run_inputs).root
        names = {name: getattr(torch, name) for name in ("sin", "relu", "sigmoid", "log")}
        assert ours.item() == pytest.approx(eval(text, {**names, **theirs}).item(), rel=1e-12)


# ---- records and places


def test_records_and_spans() -> None:
    text = "y = (x + w) * sin(x)\ny.exp()[...]"
    done = run(text, record=Keeper)
    assert [call[0] for call in done.records][:4] == ["add", "sin", "mul", "exp"]
    lines = text.split("\n")
    cut = [done.spans[call[3]] for call in done.records]
    assert [lines[s.line - 1][s.column : s.end_column] for s in cut[:4]] == [
        "x + w",
        "sin(x)",
        "(x + w) * sin(x)",
        "y.exp()",
    ]
    assert set(done.env) == {"x", "w", "y"} and [source.text for source in done.sources] == [text]
    assert run(text).records == []


def test_what_a_run_changes_is_put_back() -> None:
    before = gradtrace.get_default_dtype(), state.origin, state.recorder, sys.getrecursionlimit()
    gradtrace.manual_seed(5)
    run("torch.manual_seed(1); rand(2)", record=Keeper)
    with pytest.raises(ProgramError):
        run("m @ ones(3)")
    assert (
        gradtrace.get_default_dtype(),
        state.origin,
        state.recorder,
        sys.getrecursionlimit(),
    ) == before
    assert gradtrace.initial_seed() == 5


def test_outputs_and_dtypes() -> None:
    done = run("a = x*w\nb = a + 1", outputs=("b", "a"))
    assert [(name, tensor.item()) for name, tensor in done.outputs] == [("b", 7.0), ("a", 6.0)]
    with pytest.raises(UnknownNameError, match="no tensor named 'c'"):
        run("a = x", outputs=("c",))
    assert run("ones(2)").root.dtype == gradtrace.float64
    assert run("ones(2)", dtype="float32").root.dtype == gradtrace.float32


def test_the_values_that_are_shown() -> None:
    shown: list[str] = []
    run("2 + 3\ny = x\n'text'\nx.retain_grad()", show=lambda value, text: shown.append(text))
    assert shown == ["5", "'text'"]


# ---- errors


@pytest.mark.parametrize(
    ("text", "marked", "message", "hint"),
    [
        ("1 + sni(x)", "sni", "name 'sni' is not defined", "did you mean 'sin'?"),
        ("ln(x)", "ln", "name 'ln' is not defined", "it is 'log' here"),
        ("z = y(1); y = x", "y", "name 'y' is not defined", "further down"),
        (
            "x.foo",
            "x.foo",
            "AttributeError: 'Tensor' object has no attribute 'foo'",
            "",
        ),
        ("x.summ", "x.summ", "'Tensor' object has no attribute 'summ'", "nearest: sum"),
        ("x.shape.upper", "x.shape.upper", "AttributeError", ""),
        (
            "(x*x).grad_fn.name().upper()",
            "(x*x).grad_fn.name().upper",
            "str.upper is not available",
            "program",
        ),
        ("[x].append(w)", "[x].append", "list.append is not available", "program"),
        ("sin.real", "sin.real", "AttributeError: 'function' object has no attribute 'real'", ""),
        ("float.fromhex('1')", "float.fromhex", "type.fromhex is not available", "program"),
        ("m[0](w)", "m[0](w)", "TypeError: 'Tensor' object is not callable", ""),
        ("y = '%9d'; y % 1", "y % 1", "'%' of a text is not available", "program"),
        ("1 + 1/0", "1/0", "ZeroDivisionError: division by zero", ""),
        (
            "m[0, 5] + 1",
            "m[0, 5]",
            "IndexError: index 5 is out of bounds for dimension 1 with size 2",
            "",
        ),
        (
            "x.sum(3, 4, 5, 6)",
            "x.sum(3, 4, 5, 6)",
            "TypeError: sum() received an invalid combination of arguments",
            "",
        ),
        ("math.sqrt(-1)", "math.sqrt(-1)", "ValueError: math domain error", ""),
        (
            "x if m else w",
            "m",
            "RuntimeError: Boolean value of Tensor with more than one value is ambiguous",
            "",
        ),
        (
            "m and w",
            "m",
            "RuntimeError: Boolean value of Tensor with more than one value is ambiguous",
            "",
        ),
        ("m.T < x < 'a'", "m.T < x < 'a'", "", ""),
        ("2**10**9", "2**10**9", "the integer has more than 1,000,000 bits", "compute with floats"),
        ("9**9**9", "9**9**9", "the integer has more", "floats"),
        ("1 << 10**9", "1 << 10**9", "the integer has more", "floats"),
        (
            "(1 << 999_999)*(1 << 999_999)",
            "(1 << 999_999)*(1 << 999_999)",
            "the integer has more",
            "floats",
        ),
        ("pow(7, 10**9)", "pow(7, 10**9)", "the integer has more", "floats"),
        (
            "[0]*10**12",
            "[0]*10**12",
            "a value of 8000000000000 bytes is larger than",
            "--max-memory",
        ),
        (
            "10**12*'a'",
            "10**12*'a'",
            "a value of 8000000000000 bytes is larger than",
            "--max-memory",
        ),
    ],
)
def test_errors_have_a_place_and_a_hint(text: str, marked: str, message: str, hint: str) -> None:
    with pytest.raises(GradtraceError) as raised:
        run(text)
    error, place = raised.value, raised.value.place
    assert message in error.message and hint in error.hint
    assert place is not None and place.text[place.column - 1 :][: place.width] == marked  # type: ignore[attr-defined]


def test_an_error_in_backward_has_the_place_of_the_operation() -> None:
    with pytest.raises(ProgramError) as raised:
        run("y = exp(x)\ny.mul_(2)\n(y*1).backward()")
    forward: Any = raised.value.forward
    assert "modified by an inplace operation" in raised.value.message
    assert forward is not None and (forward.line, forward.text) == (1, "y = exp(x)")


def test_a_failed_run_has_its_record() -> None:
    with pytest.raises(ProgramError) as raised:
        run("y = x*w\nm @ ones(3)", record=Keeper)
    done: Any = raised.value.run
    assert [call[0] for call in done.records][:1] == ["mul"] and "y" in done.env


def test_nested_too_deeply() -> None:
    with pytest.raises(GradtraceError) as raised:
        run("x" + "[0]" * 1800)
    assert raised.value.message


# ---- limits, on the command line


def gt(*args: str, **extra: Any) -> subprocess.CompletedProcess[str]:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("GRADTRACE")
    }
    command = [sys.executable, "-m", "gradtrace", *args]
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", env=environment, timeout=60, **extra
    )
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9",
        "2**10**9",
        "[0]*10**9",
        "sum([0]*10**9)",
        "'a'*10**12",
        "ones(10**9)",
        "ones(200_000, 200_000)",
        "math.factorial(10**8)",
        "x = [0]*10**7; [x*10]*10; sum(x) + math.factorial(10**8)",
        "pow(3, 10**9, 10**9) + math.perm(10**8, 10**7)",
        "a = rand(3000, 3000); (a @ a @ a @ a @ a @ a @ a @ a @ a @ a @ a @ a @ a @ a).matrix_power(10**18)",
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="the limits of memory are Linux's")
def test_what_is_too_large_ends_with_a_line(text: str) -> None:
    start = time.monotonic()
    done = gt("eval", text, "--max-seconds", "2", "--max-memory", "200000000")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.strip(), done.stderr
    assert time.monotonic() - start < 12


def test_the_limit_of_time_is_told() -> None:
    done = gt("eval", "math.factorial(10**7)", "--max-seconds", "0.5")
    assert "the program ran longer than 0.5 s; raise the limit with --max-seconds" in done.stderr


@pytest.mark.parametrize(
    ("args", "out"),
    [
        (("eval", "(x+w)*(w+1)", "--x", "2", "--w", "1", "--get", "w.grad"), "5.0\n"),
        (("eval", "y", "--y", "randn(3,4).shape[1]*2", "--get", "y"), "8.0\n"),
        (("eval", "x.sum()", "--x", "[[1,2],[3,4]]", "--format", "value"), "10.0\n"),
        (("eval", "2(x+1)", "--x", "1"), "a product is 2*(x+1)"),
        (("eval", "x(x+1)", "--x", "2"), "a product is x*(x+1)"),
        (("eval", "2x+1", "--x", "2"), "write 2*x+1"),
        (("eval", "x^2", "--x", "2"), "'^' is exclusive or; a power is x**2"),
        (("eval", "max(x, 0)", "--x", "2"), "for each element: relu(x)"),
        (("eval", "x@w", "--x", "1,2", "--w", "1,2,3"), "the inputs are x (2,), w (3,)"),
    ],
)
def test_command_lines(args: tuple[str, ...], out: str) -> None:
    done = gt(*args)
    assert done.stdout == out if done.returncode == 0 else out in done.stderr


def test_a_record_has_the_texts_of_its_operators() -> None:
    shown = json.loads(
        gt("trace", "y = (x+w)*sin(x); y*2", "--x", "2", "--w", "1", "--format", "json").stdout
    )
    steps = [
        (step["op"], step["text"], step["column"])
        for step in shown["steps"]
        if step["kind"] == "forward"
    ]
    assert steps == [
        ("add", "x+w", 6),
        ("sin", "sin(x)", 11),
        ("mul", "(x+w)*sin(x)", 5),
        ("mul", "y*2", 19),
    ]


def test_derivatives_of_an_expression_that_calls_backward_are_checked() -> None:
    text = "y = x*w\ny.backward()\nx.grad"
    assert "all 2 derivatives of y" in gt("check", text, "--x", "1", "--w", "2").stdout
    assert "d y / d w" in gt("jacobian", text, "--x", "1", "--w", "2").stdout


# ---- what can be reached


def test_no_attribute_leads_to_a_module_or_code() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    node: Any = (x * x).sum().grad_fn
    values = [
        x,
        x.sum(),
        x.shape,
        node,
        node.next_functions[0],
        x.dtype,
        x.device,
        1,
        1.0,
        True,
        x.max(dim=0),
    ]
    assert all(isinstance(value, OPEN) for value in values)
    for value in values:
        for name in dir(value):
            if name.startswith("_") or name in LEFT_TO_PROGRAMS:
                continue
            reached = None
            with warnings.catch_warnings(), contextlib.suppress(Exception):
                warnings.simplefilter("ignore")
                reached = getattr(value, name)
            if getattr(reached, "__self__", None) is not value:
                assert not isinstance(
                    reached, (types.ModuleType, types.FunctionType, types.CodeType, type)
                ), name


EXACT = {
    "factorial": lambda x: math.gamma(x + 1),
    "gamma": math.gamma,
    "cbrt": math.cbrt,
    "cot": lambda x: math.cos(x) / math.sin(x),
    "sec": lambda x: 1 / math.cos(x),
    "csc": lambda x: 1 / math.sin(x),
    "coth": lambda x: math.cosh(x) / math.sinh(x),
    "sech": lambda x: 2 / (math.exp(x) + math.exp(-x)),
    "csch": lambda x: 2 / (math.exp(x) - math.exp(-x)),
    "acot": lambda x: math.copysign(math.pi / 2, x) - math.atan(x),
    "asec": lambda x: math.acos(1 / x),
    "acsc": lambda x: math.asin(1 / x),
    "acoth": lambda x: math.log((x + 1) / (x - 1)) / 2,
}


@pytest.mark.parametrize("name", FORMULAS)
def test_the_formula_of_a_function_that_torch_lacks(name: str) -> None:
    """A formula holds for every input where the function is defined, or says for which."""
    formula, _, condition = FORMULAS[name].partition(" for ")

    def value(text: str, x: float) -> Any:
        return run_program(parse(text), {"x": leaf(x)}).root

    points = [-8.0, -2.5, -1.5, -0.75, -0.5, -0.01, 0.01, 0.5, 1.0, 2.5, 8.0]
    held = [x for x in points if not condition or value(condition, x)]
    assert len(held) >= 5
    for x in held:
        assert float(value(formula, x)) == pytest.approx(EXACT[name](x), rel=1e-9), x
