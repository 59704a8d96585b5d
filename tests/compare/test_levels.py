"""Records of PyTorch that keep different amounts of their values: what is compared, and what the verdict says of it."""

import itertools
import json

import pytest

torch = pytest.importorskip("torch")
import gradtrace.torch as gradtrace_torch  # noqa: E402
from tests.compare.levels import KEPT, half_gradient, plain, recorded  # noqa: E402

PAIRS = list(itertools.product(KEPT, KEPT))


def compared(gt, here, first, second):
    """Return the verdict of `gt.compare`, checked to be that of `gradtrace diff` with the records' files."""
    found = gradtrace_torch.compare(first, second)
    first.save("a.gt")
    second.save("b.gt")
    in_files = gt("diff", "./a.gt", "./b.gt", "--format", "json")
    assert in_files.exit_code == (0 if found.equal else 1)
    data = json.loads(in_files.stdout)
    assert data == found.data()
    assert gt("diff", "./a.gt", "./b.gt").stdout.splitlines()[0] == str(found).splitlines()[0]
    return found, data


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_the_same_run(gt, here, first, second):
    found, data = compared(gt, here, recorded(first, plain), recorded(second, plain))
    known = min(KEPT[first], KEPT[second])
    if known == 3:
        assert found.verdict == "equal" and data["bit_equal"] and data["complete"]
        assert "equal: 4 values, gradients and updates included, to the bit" in str(found)
        return
    assert found.verdict == "equal in what both keep" and found.equal
    assert (data["verdict"], data["bit_equal"], data["complete"]) == ("equal", False, False)
    assert (data["compared"], data["total"], data["by_statistics"]) == (
        1,
        4,
        3 if known == 2 else 0,
    )
    assert "equal in what both keep: 1 of 4 values" in str(
        found
    ) and 'record with level="compare"' in str(found)
    assert (
        "of 3 more only ranges, means and norms are kept, which agree within the tolerance"
        in str(found)
    ) == (known == 2)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_half_of_the_gradient(gt, here, first, second):
    """The losses are equal and the gradients differ by a factor of 2, which statistics show too."""
    found, data = compared(gt, here, recorded(first, plain), recorded(second, half_gradient))
    if min(KEPT[first], KEPT[second]) == 1:
        assert "equal in what both keep: 1 of 4 values" in str(found) and not data["bit_equal"]
        return
    assert found.verdict == "differ" and not found.equal
    assert data["first"]["kind"] == "backward" and 0.4 < data["first"]["relative"] < 0.7
    partly = "equal in what both keep; the" in str(found)
    assert partly == (min(KEPT[first], KEPT[second]) == 2)


CHANGES = {
    "a row": lambda x: x.index_fill(0, torch.tensor([3]), 2.0),
    "one element": lambda x: x.index_put((torch.tensor(0), torch.tensor(0)), torch.tensor(9.0)),
    "sign": lambda x: -x,
    "factor": lambda x: x * 1.5,
    "NaN": lambda x: x.index_put((torch.tensor(0), torch.tensor(0)), torch.tensor(float("nan"))),
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_input_that_differs_is_found_in_summaries(change):
    first, second = recorded("summary", plain), recorded("summary", plain, CHANGES[change])
    found = gradtrace_torch.compare(first, second)
    assert found.verdict == "differ" and found.data()["first"]["kind"] == "input"
    if change in ("sign", "factor"):
        factor = {"sign": "-1", "factor": "1.5"}[change]
        assert found.data()["first"]["reason"] == f"B = A * {factor}, by their statistics"


def test_one_rounding_is_not_equal_to_the_bit():
    first, second = (
        recorded("compare", plain),
        recorded("compare", plain, lambda x: x * (1 + 2**-22)),
    )
    found = gradtrace_torch.compare(first, second)
    assert found.verdict == "equal within tolerance" and not found.data()["bit_equal"]
    assert not gradtrace_torch.compare(first, second, exact=True).equal
    first, second = (
        recorded("summary", plain),
        recorded("summary", plain, lambda x: x * (1 + 2**-22)),
    )
    assert not gradtrace_torch.compare(first, second, exact=True).equal
    assert "within the tolerance" in str(gradtrace_torch.compare(first, second))
