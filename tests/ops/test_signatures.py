"""The table of PyTorch's signatures, and what is said of calls that fit none of them."""

import inspect

import pytest

import gradtrace as torch
from gradtrace.ops import signatures


def lines():
    signatures.read_table()
    return sorted(signatures._listed)


def test_every_line_reads_back_as_it_stands():
    for table, name in lines():
        known = signatures.find_signatures(table, name)
        assert known.form in ("", "+", "0", "1")
        for signature in known.signatures:
            assert all(p.type and p.name for p in signature.parameters), (table, name)
            starred = any(p.keyword_only for p in signature.parameters)
            assert starred == ("*" in signatures.words_of(signature.text)), (table, name)


@pytest.mark.parametrize(
    ("table", "name", "args", "named"),
    [
        ("m", "sum", (), {}),
        ("m", "sum", (0,), {"keepdim": True}),
        ("m", "sum", ((0, 1),), {}),
        ("m", "view", (2, 3), {}),
        ("m", "sum", (), {"axis": 0, "keepdims": True}),
        ("m", "clamp", (0,), {"max": 1.5}),
        ("m", "permute", (1, 0), {}),
        ("f", "zeros", ((2, 3),), {"dtype": torch.float64}),
        ("f", "cat", ([],), {"dim": 0}),
        ("l", "det", (), {"A": torch.ones(1)}),
    ],
)
def test_a_call_that_fits(table, name, args, named):
    given = args if table == "m" or name in ("zeros", "cat", "det") else (torch.ones(2), *args)
    assert signatures.refusal(table, name, given, named) == ""


def test_words():
    x = torch.ones(2)
    assert (
        signatures.refusal("m", "cumsum", (), {})
        == 'cumsum() missing 1 required positional arguments: "dim"'
    )
    missing = 'gather() missing 2 required positional argument: "dim", "index"'
    assert signatures.refusal("f", "gather", (x,), {}) == missing
    assert (
        signatures.refusal("f", "exp", (2,), {})
        == "exp(): argument 'input' (position 1) must be Tensor, not int"
    )
    wrong = "tril(): argument 'diagonal' (position 1) must be int, not str"
    assert signatures.refusal("m", "tril", ("a",), {}) == wrong
    assert (
        signatures.refusal("m", "item", (3,), {})
        == "TensorBase.item() takes no arguments (1 given)"
    )
    assert (
        signatures.refusal("f", "cat", ([x, 3],), {})
        == "expected Tensor as element 1 in argument 0, but got int"
    )
    assert signatures.refusal("m", "never_heard_of", (), {}) == ""


@pytest.mark.parametrize(
    "name", ["put", "scatter_reduce", "index_fill", "index_copy", "index_reduce", "masked_scatter"]
)
def test_both_forms_have_their_own_name_and_arguments(name):
    for function, own in (
        (getattr(torch, name), name),
        (getattr(torch.Tensor, name + "_"), name + "_"),
    ):
        assert function.__name__ == own and "args" not in inspect.signature(function).parameters
        refused = rf"^{own}\(\) (missing \d required positional argument|received an invalid combination of arguments)"
        with pytest.raises(TypeError, match=refused):
            function(torch.ones(2))
