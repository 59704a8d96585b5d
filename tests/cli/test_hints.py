"""What the command line answers to the usual mistakes: each hint of a process says what was meant."""

import io
import zipfile

import pytest

MISTAKES = {
    "a caret for a power": (("eval", "x^2", "--x", "2"), 1, "a power is x**2"),
    "a function of torch alone": (
        ("eval", "quantile(x, 0.25)", "--x", "1,2"),
        2,
        "it is 'torch.quantile' here",
    ),
    "cdist": (("eval", "cdist(a, b)", "--a", "1,2", "--b", "3,4"), 2, "it is 'torch.cdist' here"),
    "matrix_exp": (("eval", "matrix_exp(A)", "--A", "1,2;3,4"), 2, "it is 'torch.matrix_exp' here"),
    "linalg": (("eval", "linalg.det(A)", "--A", "1,2;3,4"), 2, "write torch.linalg.det\n"),
    "a notebook that does not exist": (("why", "no.ipynb"), 2, "no such file: 'no.ipynb'"),
    "a capsule that does not exist": (("why", "caps/no.gtc"), 2, "no such file: 'caps/no.gtc'"),
    "another file that does not exist": (("why", "no.bin"), 2, "no such file: 'no.bin'"),
    "a method of a variable": (("eval", "x.T"), 2, "no value for x; give --x VALUE"),
    "a function of linalg": (
        ("eval", "eigvalsh(A)", "--A", "1,2;2,4"),
        2,
        "it is 'torch.linalg.eigvalsh' here",
    ),
    "linalg inside": (("eval", "2*linalg.det(A)", "--A", "1,2;3,4"), 2, "write torch.linalg.det"),
    "special": (("eval", "special.erf(x)", "--x", "1"), 2, "write torch.special.erf"),
    "PyTorch's alone": (
        ("eval", "fft.fft(x)", "--x", "1"),
        2,
        "torch.fft.fft needs PyTorch: write",
    ),
    "a layer": (("eval", "Linear(2, 1)(x)", "--x", "1,2"), 2, "it is 'nn.Linear' here"),
    "numpy": (("eval", "np.sin(x)", "--x", "1"), 2, "no value for np; write sin\n"),
    "numpy's alone": (("eval", "np.quantile(x, 1)", "--x", "1,2"), 2, "write torch.quantile\n"),
    "factorial": (
        ("eval", "factorial(n)", "--n", "5"),
        2,
        "factorial(x) is exp(lgamma(x + 1)) for x > -1",
    ),
    "coth": (("eval", "coth(x)", "--x", "5"), 2, "coth(x) is 1/tanh(x)"),
    "a function whose first argument is a function": (
        ("eval", "vmap(x)", "--x", "1"),
        2,
        "it is 'torch.vmap' here",
    ),
    "PyTorch's alone, by a bare name": (
        ("eval", "stft(x)", "--x", "1"),
        2,
        "torch.stft needs PyTorch: write it in a file, and give --engine torch",
    ),
    "PyTorch's alone, in a module": (
        ("eval", "bessel_j0(x)", "--x", "1"),
        2,
        "torch.special.bessel_j0 needs PyTorch",
    ),
    "nearly another function": (
        ("eval", "erfcx(x)", "--x", "1"),
        2,
        "torch.special.erfcx needs PyTorch",
    ),
    "another word for it": (("eval", "average(x)", "--x", "1"), 2, "it is 'mean' here"),
    "sparse": (("eval", "sparse.mm(x, x)", "--x", "1;2"), 2, "write torch.sparse.mm\n"),
    "a function of another module": (
        ("eval", "linalg.quantile(x)", "--x", "1,2"),
        2,
        "it is 'torch.quantile' here",
    ),
    "a function of no module": (("eval", "linalg.foo(x)", "--x", "1"), 2, "has no linalg.foo"),
    "of torch's, of another module": (
        ("eval", "nn.quantile(x, 1)", "--x", "1,2"),
        2,
        "it is 'torch.quantile' here",
    ),
    "of torch's, a formula": (
        ("eval", "torch.factorial(x)", "--x", "1"),
        2,
        "has no attribute 'factorial'; factorial(x) is exp(lgamma(x + 1)) for x > -1",
    ),
    "a method that is a function": (
        ("eval", "x.cdist(x)", "--x", "1;2"),
        1,
        "it is a function, torch.cdist",
    ),
    "a method of PyTorch's alone": (
        ("eval", "x.angle()", "--x", "1"),
        1,
        "torch.Tensor.angle needs PyTorch",
    ),
    "a layer's function": (("eval", "dropout(x)", "--x", "1,2"), 2, "it is 'F.dropout' here"),
    "an unknown function": (("eval", "foo(x)", "--x", "5"), 2, "gradtrace ops lists the functions"),
    "two letters swapped": (("eval", "tahn(x)", "--x", "5"), 2, "did you mean 'tanh'?"),
    "a constant that is set": (
        ("eval", "x*e", "-s", "e=0.3", "-s", "x=2"),
        2,
        "e has a meaning of its own; give the variable another name",
    ),
    "a vector's value": (
        ("eval", "x*2", "--x", "1,2", "--get", "root"),
        1,
        "--no-backward leaves this call out",
    ),
    "ln": (("eval", "ln(x)", "--x", "2"), 2, "it is 'log' here"),
    "max with a number": (
        ("eval", "max(x, 0)", "--x", "1,2"),
        1,
        "relu(x), clamp(x, min=0) or maximum(x, y)",
    ),
    "min with a number": (
        ("eval", "1 + min(x, 0)", "--x", "1,2"),
        1,
        "clamp(x, max=0) or minimum(x, y)",
    ),
    "one dash": (("eval", "x*2", "-x", "2"), 2, "a variable is given as --x 2"),
    "one dash and =": (("eval", "x*2", "-x=2"), 2, "a variable is given as --x 2"),
    "no dash": (("eval", "x*2", "x=2"), 2, "a variable is given as --x 2, or -s x=2"),
    "a vector in several words": (
        ("eval", "x.sum()", "--x", "1", "2", "3"),
        2,
        "a vector is one argument: --x 1,2,3",
    ),
    "negative numbers too": (
        ("eval", "x.sum()", "--x", "1", "2", "1e3"),
        2,
        "a vector is one argument: --x 1,2,1e3",
    ),
    "two words": (("eval", "x", "+", "w", "--x", "1", "--w", "2"), 2, "quote the expression"),
    "gradient of --get": (
        ("eval", "x*w", "--x", "1", "--w", "2", "--get", "w.gradient"),
        2,
        "did you mean grad?",
    ),
    "gradient of --columns": (
        ("eval", "x*2", "--x", "1", "--columns", "gradient"),
        2,
        "did you mean grad?",
    ),
    "a format as an option": (
        ("eval", "x*2", "--x", "1", "--json"),
        2,
        "did you mean --format json?",
    ),
    "another format": (("trace", "x*2", "--x", "1", "--csv"), 2, "did you mean --format csv?"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_with_what_was_meant(process, mistake):
    args, code, hint = MISTAKES[mistake]
    done = process(*args)
    assert (done.returncode, done.stdout) == (code, "")
    assert hint in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["ptp", "erfi", "nonexist", "asech"])
def test_a_name_that_only_looks_alike_is_not_offered(process, name):
    done = process("eval", f"{name}(x)", "--x", "2")
    assert "gradtrace ops lists the functions" in done.stderr


@pytest.mark.parametrize("name", ["torch.nonexist", "nn.nonexist", "torch.special.factorials"])
def test_pytorch_is_not_advised_for_what_it_does_not_have(process, here, name):
    (here / "p.py").write_text(f"import torch\nfrom torch import nn\n{name}(torch.ones(2))\n")
    for source in (f"{name}(x)", "p.py"):
        done = process("eval", source, *(["--x", "1,2"] if source != "p.py" else []))
        assert done.returncode == 2
        assert "has no attribute" in done.stderr and "--engine" not in done.stderr


FILES = {
    "class.ipynb": "'{}' is damaged: it is not a notebook",
    "caps/x.gtc": "'{}' is damaged: it is not a capsule; write it again",
    "r.gtlog": "'{}' is damaged: it is not a flight log",
    "data.csv": "{} is data, not a program; gradtrace map EXPRESSION --data {}, or --x @{}",
    "rand.bin": "{}:1: not UTF-8 text",
    "caps/run.gt": "'{}' is damaged: it is not a record of a run; record the run again",
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("command", ["why", "stats", "run"])
def test_a_file_that_exists_is_a_file(process, here, name, command):
    (here / "caps").mkdir()
    (here / name).write_bytes(bytes(range(128, 256)))
    done = process(command, name)
    assert (done.returncode, done.stdout) == (2, "")
    assert FILES[name].replace("{}", name) in done.stderr


def archive(*names):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as file:
        for name in names:
            file.writestr(name, "")
    return held.getvalue()


NO_PROGRAMS = {
    "class.ipynb": (b'{"cells": []}', "a notebook, not a program; gradtrace verify {} runs"),
    "x.gtc": (archive("a"), "a capsule, not a program; gradtrace replay {} repeats its step"),
    "model.pt": (archive("model/data.pkl"), "a file of torch.save, not a program"),
    "rand.bin": (bytes(range(256)), "binary data, not a program"),
    "pic.svg": (b"<svg></svg>", "a picture, not a program"),
    "pic.graph": (b"<?xml version='1.0'?>\n<svg></svg>", "a picture, not a program"),
    "shot": (b"\x89PNG\r\n\x1a\n", "a picture, not a program"),
    "page.htm": (b"<!DOCTYPE html>\n<p>", "a page, not a program"),
}


@pytest.mark.parametrize("name", NO_PROGRAMS)
def test_a_file_of_another_kind_is_called_what_it_is(process, here, name):
    content, said = NO_PROGRAMS[name]
    (here / name).write_bytes(content)
    done = process("why", f"./{name}")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"./{name} is {said.replace('{}', './' + name)}" in done.stderr


def test_nothing_runs_of_what_is_not_a_capsule(process, here):
    (here / "c.py").write_text("x = 1\n")
    done = process("replay", "c.py")
    assert done.returncode == 2
    assert done.stderr.startswith("gradtrace: c.py: not a capsule; write it again: gt.capsule(")


def test_a_folder_is_called_a_folder(process, here):
    (here / "caps").mkdir()
    assert "caps is a folder: name a file in it" in process("why", "caps").stderr


def test_a_program_reads_a_file_of_torch_save_as_the_hint_says(process, here):
    text = "import torch\ntorch.save({'a': 1}, 'm.pt')\n"
    assert process("run", "-", "--allow-write", ".", input=text).returncode == 0
    text = "import torch\nprint(torch.load('m.pt'))\n"
    assert process("run", "-", "--allow-read", "m.pt", input=text).stdout == "{'a': 1}\n"


def test_a_program_of_any_suffix_is_a_file(process, here):
    (here / "loss.formula").write_text("(x + 1)**2\n")
    assert process("eval", "loss.formula", "--x", "2", "--get", "x.grad").stdout == "6.0\n"
    assert "'Tensor' object has no" in process("eval", "x.formula", "--x", "2").stderr


def test_a_table_separated_by_blanks(process, here):
    for name in ("t.txt", "u.csv"):
        (here / name).write_text("x y\n1 2\n3 4\n")
    (here / "one.csv").write_text("temperature C\n1\n3\n")
    (here / "both.txt").write_text("1,2 3,4\n")
    told = process("eval", "y.sum()", "--y", "@both.txt").stderr
    assert "separate numbers by commas or by blanks, not by both" in told
    value = process("eval", "y.sum()", "--y", "@t.txt#y", "--get", "root")
    assert (value.stdout, value.stderr) == ("6.0\n", "")
    assert process("eval", "y.sum()", "--y", "@one.csv", "--get", "root").stdout == "4.0\n"
    done = process("map", "x*y", "--data", "u.csv")
    assert done.returncode == 2
    assert "its only column is 'x y': cells are separated by commas (csv)" in done.stderr


def test_an_expression_that_the_shell_made_names_of_files(process, here):
    for name in ("x1w", "x2w"):
        (here / name).write_text("")
    done = process("eval", "x1w", "x2w", "--x", "1", "--w", "2")  # x*w in this folder
    assert done.returncode == 2
    assert "the shell made names of files of a pattern: quote the expression" in done.stderr
    done = process("eval", "x1w", "--x", "1", "--w", "2")
    assert done.returncode == 2
    assert "quote the expression if the shell made it of a pattern" in done.stderr


def test_a_name_used_before_it_is_set(process, here):
    (here / "p.py").write_text("import torch\ny = x * 2\nx = torch.tensor(3.0)\n")
    done = process("run", "p.py")
    assert done.returncode == 1
    assert done.stderr.startswith(
        "p.py:2:5: NameError: name 'x' is not defined; it gets its value further down"
    )


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("def f():\n    print(v)\n    v = 1\nf()\n", "p.py:2:11:"),
        ("def f(x):\n    y = z + x\n    z = 1\n    return y\nprint(f(1.0))\n", "p.py:2:9:"),
        (
            "def f():\n    def g():\n        return z\n    r = g()\n    z = 1\n    return r\nf()\n",
            "p.py:3:16:",
        ),
    ],
)
def test_a_local_variable_without_a_value_is_named_in_its_own_line(process, here, text, place):
    (here / "p.py").write_text(text)
    done = process("run", "p.py")
    assert done.returncode == 1
    assert done.stderr.startswith(place)
    assert "where it is not associated with a value" in done.stderr


def test_a_comma_in_a_number(process):
    done = process("eval", "1,5*x", "--x", "2", "--format", "csv")
    assert (done.returncode, done.stderr) == (
        0,
        "<expression>: UserWarning: a comma makes two values; 1.5 is one number\n",
    )


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("x*1,5", "1.5"),
        ("2*x+0,5", "0.5"),
        ("x + 1,5", "1.5"),
        ("(1,5*x)", "1.5"),
        ("0,5*x.sum()", "0.5"),
        ("3,14*x**2", "3.14"),
        ("y = 1,5*x", "1.5"),
        ("(1,25*x).sum()", "1.25"),
    ],
)
def test_a_number_with_a_comma_anywhere(process, here, text, number):
    (here / "f.txt").write_text(text + "\n")
    for source in (text, "f.txt"):
        told = process("eval", source, "--x", "2").stderr
        assert f"UserWarning: a comma makes two values; {number} is one number\n" in told


def test_a_number_with_a_comma_as_an_argument(process):
    done = process("eval", "1 + sin(0,5*x)", "--x", "2")
    assert done.returncode == 1
    assert "a comma separates arguments; 0.5 is one number" in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "max(1,5)*x",
        "x*1.5, x",
        "(x, 2)",
        "x",
        "ones(2,3)*x",
        "(x*ones(2,3))[0,1]",
        "(x*ones(2,3)).sum((0,1))",
        "1.5,2*x",
        "x.reshape(1,1),x",
        "tensor([1,2])*x",
    ],
)
def test_other_commas(process, text):
    assert "comma" not in process("eval", text, "--x", "2").stderr
