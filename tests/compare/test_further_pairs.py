"""`gradtrace diff` on pairs of PyTorch programs as users write them: no false alarm, and the cause in both programs."""

import pytest

pytest.importorskip("torch")
from gradtrace.analysis.compare.reasons import KINDS
from tests.compare.further import PLANTED, REWRITES


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", REWRITES)
def test_a_rewrite_is_equal(verdict, name):
    if "GPT-2" in name:
        pytest.importorskip("transformers")
    code, found = verdict("torch", *REWRITES[name])
    assert (code, found["verdict"], found["first"]) == (0, "equal", None)
    assert found["compared"] >= 3


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", PLANTED)
def test_a_cause_is_placed(verdict, name):
    pair = PLANTED[name]
    code, found = verdict("torch", pair.a, pair.b)
    first = found["first"]
    assert (code, found["verdict"]) == (1, "differ")
    assert pair.words or pair.kind
    assert first["kind"] == (pair.kind or first["kind"])
    assert first["kind"] in KINDS and first["kind"] != "input"
    assert (first["only"] is not None) == (first["kind"] == "only")
    for side, text, wanted in (("a", pair.a, pair.lines_a), ("b", pair.b, pair.lines_b)):
        place = first[side]
        lines = text.splitlines()
        told = "".join(lines[n - 1] for n in (place["line"], place["made"]) if n)
        assert any(part in told for part in wanted.split("|")), told
    assert any(word in first["reason"] for word in pair.words.split("|")), first["reason"]
