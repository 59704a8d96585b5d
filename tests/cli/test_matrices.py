"""`gradtrace jacobian` and `gradtrace hessian`."""

import json

import numpy as np
import pytest


@pytest.fixture
def document(answer):
    def read(*args, **extra):
        return json.loads(answer(*args, "--format", "json", **extra))

    return read


def test_a_matrix_product(answer):
    assert (
        answer("jacobian", "x @ w", "--x", "1,2;3,4", "--w", "5,6", "--wrt", "w")
        == """\
d x @ w / d w: 2 x 2
            w[0]  w[1]
──────────────────────
(x @ w)[0]     1     2
(x @ w)[1]     3     4
"""
    )


def test_weighted_rows_and_their_sum(answer, document):
    """Four results of five inputs, as in the third note: the rows of M, weighted and added up."""
    source = ("M @ x", "--x", "1,2,3,4,5", "--no-grad", "M", "--M", "arange(20.).view(4, 5)")
    (block,) = document("jacobian", *source, "--grad-tensors", 1)["blocks"]
    assert np.shape(block["matrix"]) == (4, 5)
    assert block["product"] == [30, 34, 38, 42, 46]
    (block,) = document("jacobian", *source, "--grad-tensors", "1,2,0,-1")["blocks"]
    assert block["product"] == [-5, -3, -1, 1, 3] and block["weights"] == [1, 2, 0, -1]
    lines = answer("jacobian", *source, "--grad-tensors", "1,2,0,-1").splitlines()
    assert lines[1].split()[:2] == ["weight", "x[0]"]
    assert lines[-1].split() == ["sum", "-5", "-3", "-1", "1", "3"]


def test_several_outputs_and_inputs(document):
    source = "a = x * w\nb = a + w\n"
    blocks = document(
        "jacobian", "-", "--x", 2, "--w", 3, "--output", "a,b", "--wrt", "x,w,a", input=source
    )["blocks"]
    assert {(b["of"], b["by"]): b["matrix"] for b in blocks} == {
        ("a", "x"): [[3]], ("a", "w"): [[2]], ("a", "a"): [[1]],
        ("b", "x"): [[3]], ("b", "w"): [[3]], ("b", "a"): [[1]],
    }  # fmt: skip


def test_a_script_is_stopped_where_it_calls_backward(document):
    source = (
        "import torch\nw = torch.tensor([1., 2.], requires_grad=True)\nloss = (w ** 3).sum()\nloss.backward()\n"
        "w.data.zero_()\n"
    )
    (block,) = document("jacobian", "-", input=source)["blocks"]
    assert (block["of"], block["by"], block["matrix"]) == ("loss", "w", [[3, 12]])
    found = document("hessian", "-", input=source)
    assert found["matrix"] == [[6, 0], [0, 12]] and found["definiteness"] == "positive definite"


def test_a_hessian(answer):
    assert (
        answer("hessian", "x**2*w + w**3", "--x", 1, "--w", 2)
        == """\
second derivatives of x**2*w + w**3 by x, w: 2 x 2
   x   w
────────
x  4   2
w  2  12

symmetric
eigenvalues: 3.5279, 12.472
positive definite
"""
    )


@pytest.mark.parametrize(
    ("expression", "definiteness"),
    [("x*x + y*y", "positive definite"), ("-x*x - y*y", "negative definite"), ("x*x - y*y", "indefinite"),
     ("(x + y)**2", "positive semidefinite"), ("x + y", "zero"), ("-(x - y)**4", "negative semidefinite"),
     ("sqrt(x - 1) + y", "not finite")],
)  # fmt: skip
def test_definiteness(document, expression, definiteness):
    assert document("hessian", "-e", expression, "--x", 1, "--y", 2)["definiteness"] == definiteness


def test_an_unsymmetric_hessian_is_a_wrong_derivative(answer):
    source = """\
import torch
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w * w
    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g * w.detach() ** 2, g * 2 * x * w
x = torch.tensor(2., requires_grad=True)
w = torch.tensor(3., requires_grad=True)
y = F.apply(x, w)
"""
    text = answer("hessian", "-", input=source)
    assert "NOT symmetric: elements differ by 6" in text


def test_files(answer, here):
    answer("jacobian", "x @ w", "--x", "1,2;3,4", "--w", "5,6", "-o", "j.npz")
    with np.load(here / "j.npz") as arrays:
        assert {name: arrays[name].shape for name in arrays} == {
            "x @ w/x": (2, 2, 2),
            "x @ w/w": (2, 2),
        }
    answer("hessian", "(x**3).sum()", "--x", "1,2", "-o", "h.npy")
    assert np.load(here / "h.npy").tolist() == [[6, 0], [0, 12]]


def test_large_matrices_are_summed_up(answer):
    source = ("jacobian", "x * x", "--x", "ones(30)")
    assert "--all writes it out; -o FILE.npy keeps it" in answer(*source)
    assert answer(*source, "--all").count("(x * x)[29]") == 1


def test_what_is_refused(refusal):
    for args, words in [
        (
            ("hessian", "x*2", "--x", "1,2"),
            "a Hessian is of one number, and x*2 has the shape (2,)",
        ),
        (("jacobian", "x*2", "--x", 1, "--wrt", "z"), "--wrt: no tensor 'z'"),
        (("jacobian", "x*2", "--x", 1, "--no-grad", "x"), "no variable requires grad"),
        (("jacobian", "x*2", "--x", 1, "-o", "j.txt"), "end it in .npy or .npz"),
        (
            ("jacobian", "x*w", "--x", 1, "--w", 2, "-o", "j.npy"),
            "an .npy holds one array, and there are 2",
        ),
        (
            ("jacobian", "x*2", "--x", "1,2", "--grad-tensors", "1,2,3"),
            "--grad-tensors has 3 elements, the output has 2",
        ),
    ]:
        code, error = refusal(*args)
        assert code == 2 and words in error


def test_as_a_process(process):
    done = process("hessian", "x*x", "--x", 3)
    assert (done.returncode, done.stderr) == (0, "")
    assert "positive definite" in done.stdout
