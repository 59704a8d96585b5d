"""`gradtrace diff` on pairs of programs: rewrites that are right, and planted differences, on both engines."""

import pytest

from tests.compare.planted import PLANTED, programs
from tests.compare.rewrites import HEAD, REWRITES

TORCH_ONLY = {"checkpointing"}  # gradtrace's own checkpoint cannot be recorded node by node


@pytest.mark.sampled(8)
@pytest.mark.parametrize("engine", ["gradtrace", "torch"])
@pytest.mark.parametrize("name", REWRITES)
def test_a_rewrite_is_equal(verdict, name, engine):
    if engine != "torch" and name in TORCH_ONLY:
        pytest.skip("PyTorch's alone")
    head, first, second = REWRITES[name]
    code, found = verdict(engine, HEAD + head + first, HEAD + head + second)
    assert (code, found["verdict"], found["first"], found["others"]) == (0, "equal", None, [])
    assert found["largest"]["relative"] < 1e-4
    assert found["compared"] >= 3


@pytest.mark.sampled(3)
@pytest.mark.parametrize("engine", ["gradtrace", "torch"])
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_difference_is_found(verdict, name, engine):
    planted = PLANTED[name]
    texts = programs(name)
    code, found = verdict(engine, *texts)
    first = found["first"]
    assert (code, found["verdict"]) == (1, "differ")
    assert first["kind"] in planted.kind
    for side, text, wanted in zip(("a", "b"), texts, (planted.a, planted.b), strict=True):
        line = text.splitlines()[first[side]["line"] - 1]
        assert any(one in line for one in wanted), line
    assert not planted.words or any(word in first["reason"] for word in planted.words.split("|")), (
        first["reason"]
    )
    assert first["before"] <= 1e-5


def test_a_shorter_dtype_is_equal_within_its_tolerance(verdict):
    text = HEAD + (
        "net = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3))\n"
        "CAST\nx = torch.randn(5, 6).to(net[0].weight.dtype)\nloss = net(x).float().pow(2).mean()\nloss.backward()\n"
    )
    code, found = verdict(
        "torch", text.replace("CAST\n", ""), text.replace("CAST", "net.bfloat16()")
    )
    assert (code, found["verdict"], found["bit_equal"]) == (0, "equal", False)
    assert 1e-4 < found["largest"]["relative"] < 0.1


def test_recordings_in_python(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    import gradtrace.torch as gt

    monkeypatch.chdir(tmp_path)

    def run(scale, **options):
        torch.manual_seed(0)
        net = torch.nn.Linear(40, 40)
        with gt.record(**options) as r:
            (net(torch.ones(30, 40)) * scale).sin().sum().backward()
        return r

    run(2.0, level="compare").save("old.gt")
    assert run(2.0, like="old.gt").diff().verdict == "equal"
    other = run(3.0, like="old.gt")
    found = other.diff()
    assert (found.verdict, found.equal) == ("differ", False)
    assert found.data()["first"]["reason"] == "2 in A, 3 in B"
    assert str(found).startswith("differ: forward")
    assert gt.compare("old.gt", other).data() == found.data()
    found.draw("both.html")
    page = (tmp_path / "both.html").read_text()
    assert 'class="first"' not in page  # the script marks it
    assert '"first":[[' in page
    with pytest.raises(FileNotFoundError, match="typo"):
        gt.record(like="typo.gt")
    with pytest.raises(ValueError, match="nothing to compare with"):
        run(2.0).diff()


LOOP = HEAD + (
    "w = torch.tensor([0.9, 0.5, 0.2], requires_grad=True)\nc = torch.tensor([0.1, -0.3, 0.2])\nh = torch.zeros(3)\n"
    "for i in range(60):\n    h = torch.tanh(h * w + STEP)\nloss = h.sum()\nloss.backward()\n"
)


@pytest.mark.parametrize("engine", ["gradtrace", "torch"])
def test_a_difference_that_fades_before_the_result_is_named(verdict, engine):
    code, found = verdict(
        engine, LOOP.replace("STEP", "c"), LOOP.replace("STEP", "(c if i != 20 else 1.001 * c)")
    )
    assert (code, found["verdict"]) == (0, "equal")
    (note,) = found["notes"]
    line = LOOP.splitlines().index("    h = torch.tanh(h * w + STEP)") + 1
    assert note.startswith("on the way, h * w + c #21 differs by 0.000")
    assert f"(line {line})" in note


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", [name for name in REWRITES if name not in TORCH_ONLY])
def test_a_rewrite_differs_nowhere_on_the_way(verdict, name):
    head, first, second = REWRITES[name]
    _, found = verdict("gradtrace", HEAD + head + first, HEAD + head + second)
    assert not any("on the way" in note for note in found["notes"])


def test_an_update_before_a_deep_graph_that_differs():
    """Each value is judged by what it was computed from, without a call for each."""
    torch = pytest.importorskip("torch")
    import gradtrace.torch as gt

    def run(rate):
        w = torch.tensor([0.9, 0.5, 0.2], requires_grad=True)
        opt = torch.optim.SGD([w], lr=rate)
        with gt.record(level="compare") as r:
            for _ in range(2):
                h = torch.ones(3)
                for _ in range(400):
                    h = torch.tanh(h * w) + w
                opt.zero_grad()
                h.sum().backward()
                opt.step()
        return r

    first = gt.compare(run(0.01), run(0.02)).data()["first"]
    assert (first["kind"], first["step"], first["reason"]) == (
        "update",
        1,
        "lr=0.01 in A, 0.02 in B",
    )
