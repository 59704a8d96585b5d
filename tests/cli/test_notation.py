"""Mathematical notation, which the language does not read: the hint says what to write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradtrace.program.notation import of_other_notation, translated
from gradtrace.program.parse import parse

MEANT = {
    "2x+1": "2*x+1",
    "2 x": "2*x",
    "x y": "x*y",
    "3(x+1)": "3*(x+1)",
    "(x+1)(x+2)": "(x+1)*(x+2)",
    "1/2x": "1/(2*x)",
    "x² − 3x⁻¹": "x**2 - 3*x**-1",
    "e^(−x²)": "e**(-x**2)",
    "x × w ÷ y": "x * w / y",
    "2πx": "2*πx",  # πx is one name
    "2π x": "2*pi*x",
    "√x + 5√(x+1)": "sqrt(x) + 5*sqrt(x+1)",
    "|x|": "abs(x)",
    "log|x − 1|": "log(abs(x - 1))",
    "sin x": "sin(x)",
    "ln x": "log(x)",
    "sin²x + cos² x": "sin(x)**2 + cos(x)**2",
    "sin 2x cos x": "sin(2*x)*cos(x)",
    "softmax(2x, dim=0)[0]": "softmax(2*x, dim=0)[0]",
    "y: leaf = 2e": "y: leaf = 2*e",
    "loss = (y − 2x)²": "loss = (y - 2*x)**2",
    "torch.sin 2x": "torch.sin(2*x)",
    "print x": "print(x)",
}


@pytest.mark.parametrize("written", MEANT)
def test_the_hint_says_what_to_write(refusal, written):
    assert translated(written) == MEANT[written]
    if ")(" not in written and "3(" not in written:  # these are calls in Python
        code, error = refusal("eval", "-e", written)
        assert code == 2 and f"write {MEANT[written]}" in error


@pytest.mark.parametrize(
    "line",
    [
        "if x y:",
        "x'",
        "'2x",
        "2x # twice",
        "3!",
        "(2x",
        "[2x)",
        "for i in 2x",
        "x +* y",
        "*π",
        "y = *2x",
        "",
    ],
)
def test_what_is_no_notation_gets_no_guess(line):
    assert translated(line) is None


OTHERS = {
    "x == 3 ? 1 : 2": "write 1 if x == 3 else 2",
    "x := 3": "write x = 3",
    "d/dx x**2": "every result is differentiated; write x**2",
    "d/dx(x**2)": "every result is differentiated; write x**2",
    "f(x) = x**2": "write x**2, or a function: def f(x): return x**2",
    "∑ x": "write sum(x)",
    "x!": "x! is exp(lgamma(x + 1))",
    "50%*x": "a percent is a hundredth; write 50/100*x",
    "50% of x": "write 50/100*x",
    "20 % of 50 % of 2x": "write 20/100*(50/100)*2*x",
    "w*(1 - 5%)": "write w*(1 - (5/100))",
    "w * 2.5%": "write w * (2.5/100)",
    "x%": "write x/100",
    "x% of w": "write x/100*w",
    "2x%": "write 2*x/100",
    "(x+1)%": "write (x+1)/100",
    "2(x+1)%": "write 2*((x+1)/100)",
    "sin(x)%": "write sin(x)/100",
    "sin^2 x": "write sin(x)**2",
    "x**2 = 4": "an equation has no value; write its left side minus its right side",
    "x +": "what follows the last sign is missing",
    "y = x *": "what follows the last sign is missing",
    "t.csv": "no such file: 't.csv'",
}


@pytest.mark.parametrize("written", OTHERS)
def test_the_hint_reads_other_notations(refusal, written):
    code, error = refusal("eval", "-e", written)
    assert code == 2 and OTHERS[written] in error


@pytest.mark.parametrize(
    "line", ["x = = 3", "d = {1: 2", "x[1:2", "a != b c=", "print(f'{x!r}'", "x % 3 3", "x %"]
)
def test_other_lines_get_no_guess(line):
    assert of_other_notation(line) == ""


@pytest.mark.parametrize(
    "line",
    [
        "50% of x of y",
        "x % of y",
        "50 % (of x)",
        "50 percent of x",
        "x of y",
        "half of x",
        "sin of x",
        "50% of",
    ],
)
def test_words_of_a_sentence_are_not_factors(refusal, line):
    assert translated(line) is None and of_other_notation(line) == ""
    assert "write" not in refusal("eval", "-e", line)[1]


def test_names_of_variables_are_factors():
    assert translated("2 theta x1 w_in") == "2*theta*x1*w_in"
    assert translated("2 speed", {"speed"}) == "2*speed"


@given(st.text("2xsin.²√|()[]+-*/^, =:π", max_size=25))
def test_what_is_written_is_always_python(line):
    found = translated(line)
    assert found is None or parse(found)


@pytest.mark.parametrize(
    "args, hint",
    [
        (["eval", "x(x+1)", "--x", "2"], "x(...) calls a function; a product is x*(x+1)"),
        (["eval", "(x+1)(x+2)", "--x", "2"], "a product is (x+1)*(x+2)"),
        (["eval", "3(x+1)", "--x", "2"], "a product is 3*(x+1)"),
        (["eval", "x·w", "--x", "2"], "a product is x*w"),
        (["eval", "πx", "--x", "2"], "a product is pi*x"),
        (["eval", "e*x", "--e", "2"], "e has a meaning of its own"),
        (["eval", "max*x", "--max", "2"], "max has a meaning of its own"),
        (
            ["eval", "lambda*x"],
            "'lambda' is a word of Python; give the variable another name, such as lam",
        ),
        (["eval", "x=2; w=1; y=x*w"], "a constant has no gradient; write x: leaf = 2"),
        (["eval", "x.sum()", "--x", "data.npy"], "a file is written @data.npy"),
        (["graph", "x*x", "--x", "2", "--format", "svg"], "-o FILE.svg"),
        (["map", "x*y", "--format", "json"], "jsonl"),
        (["map", "x*y", "--jsonl"], "did you mean --format jsonl?"),
    ],
)
def test_other_hints(refusal, args, hint):
    assert hint in refusal(*args)[1]


def test_help_as_a_command(answer):
    assert answer("help", "eval") == answer("eval", "--help")
    assert answer("help") == answer("--help")


def test_get_takes_a_list(answer):
    point = ("--x", "[[2,3]]", "--w", "1")
    assert (
        answer("eval", "(x*w).sum()", *point, "--get", "w.grad,x.grad[0,1],x[0,0]")
        == "5.0\n1.0\n2.0\n"
    )
