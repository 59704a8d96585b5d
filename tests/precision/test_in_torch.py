"""Real PyTorch at the level "precision": planted losses are ranked first, clean programs are not accused.

`planted.txt` has the programs of both engines, `planted_models.txt` models of PyTorch and transformers in the same
form; a last comment there names the module and the operation, where the line is in a library. `clean_models.txt` has
training steps that lose nothing.
"""

import copy
import runpy
import textwrap
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
gt = pytest.importorskip("gradtrace.torch")

from gradtrace.analysis.precision import answer  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
HERE = Path(__file__).parent
HEAD = "import torch, gradtrace.torch as gt\ntorch.manual_seed(0)\nwith gt.record(level='precision') as recording:\n"


def sections(*files):
    parts = [part for file in files for part in (HERE / file).read_text().split("=== ")[1:]]
    return {
        head.split(":")[0]: (head.partition(": ")[2], text)
        for part in parts
        for head, _, text in [part.partition("\n")]
    }


PLANTED = sections("planted.txt", "planted_models.txt")
CLEAN = sections("clean_models.txt")
QUICK = {"variance_as_difference", "adam_step_lost", "scaled_too_much", "attention_softmax_by_hand"}


def measured(path, body):
    if "transformers" in body:
        pytest.importorskip("transformers")
    torch.set_num_threads(1)
    text = HEAD + textwrap.indent(body, "    ")
    path.write_text(text)
    return text, runpy.run_path(str(path))["recording"].trace()


def some(programs):
    return [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in programs
    ]


@pytest.mark.parametrize("name", some(PLANTED))
def test_planted_loss_is_ranked_first(tmp_path, name):
    code, body = PLANTED[name]
    text, trace = measured(tmp_path / "program.py", body)
    first = answer(trace).losses[0]
    assert first.cause.code == code
    if "# here" in text:
        line = next(i for i, one in enumerate(text.split("\n"), 1) if "# here" in one)
        assert first.cause.evidence[0].span.line == line
    else:
        scope, _, operation = body.rstrip().rpartition("\n")[2].removeprefix("# ").partition(": ")
        found = trace.operations[first.operation]
        assert (trace.scopes[found.scope].name.endswith(scope), found.name) == (True, operation)


@pytest.mark.slow
@pytest.mark.parametrize("name", CLEAN)
def test_clean_program_is_not_accused(tmp_path, name):
    _, trace = measured(tmp_path / "program.py", CLEAN[name][1])
    found = answer(trace)
    assert found.losses == ()
    is_short = any(t.dtype in ("float16", "bfloat16") for t in trace.tensors)
    begin = "more than the rounding of " if is_short else "precision:"
    assert found.sentence.startswith(f"No operation loses {begin}")
    assert len(trace.precision.measured) > 10


def recorded(work):
    torch.manual_seed(0)
    with gt.record(level="precision") as recording:
        work()
    return recording.trace()


def of_values(trace, operation):
    """The rows of an operation's results."""
    return [
        row
        for row in trace.precision.measured
        if row.passed is None and trace.operations[row.operation].name == operation
    ]


@pytest.mark.parametrize("scale", [0.25, 1.0, 2.0])
def test_the_scale_that_fits_is_the_largest_one(scale):
    """With the scale that a skipped step names it would have been taken, with twice that it would not."""

    def step(scale):
        net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=scale)
        with torch.autocast("cpu", torch.float16):
            loss = torch.nn.functional.cross_entropy(net(torch.randn(8, 8)), torch.arange(8) % 4)
        scaler.scale(loss).backward()
        scaler.step(opt)

    (first,) = recorded(lambda: step(2.0**30)).precision.scales
    assert first.skipped and first.tensors and first.operations
    (second,) = recorded(lambda: step(first.fits * scale)).precision.scales
    assert (second.skipped, second.fits) == (scale > 1, first.fits)


def test_writes_in_place_keep_the_error_of_each_element():
    """The error stays with the elements that it was written to, whatever view they are read through."""

    def work():
        x, y = torch.rand(4, 6).half(), torch.zeros(4, 6).half()
        third = x / 3
        y[1] = third[1]
        y.t()[0, 2:] = third[2:, 0]
        y.add_(0)
        y.relu()

    last = of_values(recorded(work), "relu")[0]
    torch.manual_seed(0)
    x = torch.rand(4, 6)
    mask = torch.zeros(4, 6, dtype=torch.bool)
    mask[1], mask[2:, 0] = True, True
    wanted, found = (torch.where(mask, one, 0).double() for one in (x.double() / 3, x.half() / 3))
    norm = wanted.norm()
    assert last.norm == pytest.approx(float(norm))
    assert last.error == pytest.approx(float((found - wanted).norm() / norm * 2**11))
    assert last.added == 0


def test_what_a_random_operation_draws_has_no_error():
    def work():
        x = torch.rand(64).half() / 3
        y = torch.nn.functional.dropout(x, 0.5)
        y.mul(2)

    trace = recorded(work)
    (row,) = of_values(trace, "mul")
    assert 0.3 < row.inherited < 1 and trace.left_out == ()


def test_the_parts_of_an_error_add_up():
    def work():
        a, b = torch.randn(8, 8).bfloat16() / 3, torch.randn(8, 8).bfloat16() / 7
        a @ b

    (row,) = of_values(recorded(work), "matmul")
    assert row.error**2 == pytest.approx(row.added**2 + row.inherited**2, rel=0.5)
    assert len(row.sources) == 2 and row.terms == 8
    assert 0 < sum(source.share for source in row.sources) < 1


def test_what_has_no_float64_kernel_is_said(tmp_path):
    net = torch.nn.LSTM(4, 4)
    trace = recorded(lambda: net(torch.randn(3, 2, 4)))
    if torch.backends.mkldnn.is_available():
        (one,) = trace.precision.unmeasured
        assert (
            trace.operations[one.operation].name == "lstm"
            and "did not run in float64" in one.reason
        )


def test_another_level_has_no_answer():
    with gt.record() as recording:
        torch.ones(2).half().exp()
    with pytest.raises(ValueError, match="precision"):
        recording.precision()


@pytest.mark.parametrize(
    "work",
    [
        lambda x: (1 - torch.sigmoid(x)).sum().backward(),
        lambda x: torch.log(1 + torch.exp(-x)).sum().backward(),
    ],
)
def test_a_result_is_not_exact_where_float64_has_no_digits_left(work):
    first = answer(recorded(lambda: work(torch.tensor([45.0, 50.0], requires_grad=True)))).losses[0]
    assert first.target.digits == 0 and first.digits > 7


def test_gradients_that_no_scale_makes_finite_are_not_called_overflow():
    def work():
        net = torch.nn.Linear(4, 4)
        opt, scaler = (
            torch.optim.SGD(net.parameters(), lr=0.1),
            torch.amp.GradScaler("cpu", init_scale=1024.0),
        )
        with torch.autocast("cpu", dtype=torch.float16):
            y = net(torch.randn(8, 4)).float()
        scaler.scale((y - y.detach()).abs().sqrt().sum()).backward()
        scaler.step(opt)

    trace = recorded(work)
    first = answer(trace).losses[0].cause
    assert (first.code, first.advice, trace.precision.scales[0].fits) == ("skipped step", (), 0)
    assert "overflow" not in first.sentence


@pytest.mark.parametrize(
    "work",
    [
        lambda: torch.linalg.det(torch.rand(8, 8)),
        lambda: torch.rand(64).half().prod(),
        lambda: torch.nn.functional.max_pool2d(torch.rand(1, 1, 8, 8), 4),
        lambda: torch.linalg.svdvals(torch.rand(6, 6)),
    ],
)
def test_what_adds_nothing_up_is_no_sum(work):
    assert [row.terms for row in recorded(work).precision.measured][-1] == 1


def test_parameters_begin_each_call_of_a_closure_as_they_are():
    def work():
        w, x, y = torch.zeros(5, requires_grad=True), torch.randn(20, 5), torch.randn(20)
        opt = torch.optim.LBFGS([w], lr=0.5, max_iter=5)

        def closure():
            opt.zero_grad()
            loss = ((x @ w - y) ** 2).mean()
            loss.backward()
            return loss

        opt.step(closure)
        opt.step(closure)

    trace = recorded(work)
    assert answer(trace).losses == ()
    assert all(row.inherited == 0 for row in of_values(trace, "matmul"))


def test_an_update_that_is_not_finite_is_reported():
    def work():
        w = torch.randn(32).half().requires_grad_()
        opt = torch.optim.Adam([w], lr=1e-3)
        (torch.full((32,), 1e-3).half() * w).float().sum().backward()
        opt.step()
        assert not w.isfinite().any()

    first = answer(recorded(work)).losses[0].cause
    assert (
        first.code == "broken update" and "32 of 32 elements of w are not finite" in first.sentence
    )


def test_a_lost_update_by_hand_is_reported():
    def work():
        w = torch.full((5,), 100.0, requires_grad=True)
        (w * 1e-3).sum().backward()
        with torch.no_grad():
            w -= 1e-4 * w.grad

    (first,) = answer(recorded(work)).losses
    assert first.cause.code == "lost update"
    assert "the largest update of w left 5 of 5 elements as they were" in first.cause.sentence
    assert first.cause.evidence[0].span is not None


def test_a_second_optimizer_of_one_scaler_is_explained_like_the_first():
    def work():
        nets = [torch.nn.Linear(4, 4) for _ in range(2)]
        opts = [torch.optim.SGD(net.parameters(), lr=0.1) for net in nets]
        scaler, x = torch.amp.GradScaler("cpu", init_scale=2.0**22), torch.randn(8, 4)
        with torch.autocast("cpu", dtype=torch.float16):
            first, second = (net(x).float().pow(2).sum() for net in nets)
        scaler.scale(first * 1e-4 + second).backward()
        for opt in opts:
            scaler.step(opt)

    taken, skipped = recorded(work).precision.scales
    assert (taken.skipped, skipped.skipped) == (False, True)
    assert skipped.operations and 0 < skipped.fits < 2.0**22


def test_many_digits_of_a_short_type_are_not_called_no_loss():
    found = answer(
        recorded(
            lambda: (1 + 0.01 * torch.randn(2000)).bfloat16().requires_grad_().cumprod(0)[-1].sum()
        )
    )
    assert found.losses == ()
    assert found.sentence.startswith("No operation loses many digits beyond rounding: ")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_digits_of_a_short_result_are_not_called_no_loss(dtype):
    """The type that was asked for has fewer digits than the type of the gradient."""
    found = answer(
        recorded(lambda: torch.rand(2000, requires_grad=True).cumsum(0, dtype=dtype).float().mean())
    )
    name = str(dtype).removeprefix("torch.")
    assert found.losses or found.sentence.startswith(
        f"No operation loses more than the rounding of {name}: "
    )


def test_what_numpy_writes_has_no_error():
    def work():
        x = torch.rand(8) * 0.1
        x.numpy()[:] = range(1, 9)
        (x * torch.ones(8, requires_grad=True)).sum()

    trace = recorded(work)
    assert answer(trace).losses == () and of_values(trace, "sum")[0].norm == 36


def encoder_step(dtype, width=64):
    layer = torch.nn.TransformerEncoderLayer(width, 4, 256, 0.0, batch_first=True)
    net = torch.nn.Sequential(layer, torch.nn.Linear(width, 8)).to(dtype)
    net(torch.randn(8, 64, width).to(dtype)).log_softmax(-1)[..., 0].mean().neg().backward()


@pytest.mark.slow
def test_a_sample_shows_the_errors_of_all_elements(monkeypatch):
    from gradtrace.torch import precision_samples as samples

    monkeypatch.setattr(samples, "MANY", 2**14)
    some = recorded(lambda: encoder_step(torch.float32)).precision.measured
    monkeypatch.setattr(samples, "sample_of", None)
    monkeypatch.setattr("gradtrace.torch.precision_runs.sample_of", lambda *_: None)
    every = recorded(lambda: encoder_step(torch.float32)).precision.measured
    assert len(some) == len(every) and any(
        a.added != b.added for a, b in zip(some, every, strict=True)
    )
    for a, b in zip(some, every, strict=True):
        assert (a.error, a.norm) == (pytest.approx(b.error, rel=1e-6), pytest.approx(b.norm))
        assert a.added == pytest.approx(b.added, rel=0.3) and a.inherited == pytest.approx(
            b.inherited, rel=0.3
        )
        for one, other in zip(a.sources, b.sources, strict=True):
            assert one.share == pytest.approx(other.share, abs=0.15)


def test_a_row_that_overflows_is_found_outside_the_sample():
    def work():
        x, w = torch.randn(512, 64), torch.randn(64, 64) * 30
        x[137] *= 1e4
        (x.half() / 3) @ w.half()

    (row,) = of_values(recorded(work), "matmul")
    assert 50 < row.overflowed <= 64


LAYERS = """class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(3))
    def forward(self, x):
        for i, layer in enumerate(self.layers):
            with torch.autocast("cpu", torch.bfloat16, enabled=i in SHORT):
                y = layer(x)
            x = y.float() * (3.0 if i == WORST else 0.1) + x
        return x
net = Net()
loss = net(torch.randn(64, 16)).pow(2).mean()
loss.backward()
"""


@pytest.mark.parametrize("worst", [0, 1, 2])
def test_autocast_names_the_operation_whose_dtype_matters(tmp_path, worst):
    """With the named layer in float32 the loss has the smallest error."""

    def loss(short):
        torch.manual_seed(0)
        known = {"torch": torch, "SHORT": short, "WORST": worst}
        exec(LAYERS, known)
        return float(known["loss"])

    errors = [abs(loss({0, 1, 2} - {i}) - loss(set())) for i in range(3)]
    assert errors.index(min(errors)) == worst
    text = LAYERS.replace("SHORT", "(0, 1, 2)").replace("WORST", str(worst))
    found = answer(measured(tmp_path / "program.py", text)[1])
    assert (found.dtypes[0].dtype, found.dtypes[0].operations[0]) == ("bfloat16", "linear ×3")
    assert found.dtypes[0].modules == ("net.layers.0", "net.layers.1", "net.layers.2")
    assert (
        f"added by linear in net.layers.{worst} on line" in found.largest[0]
        and "bfloat16" in found.largest[0]
    )


def test_one_dtype_has_no_table():
    found = answer(recorded(lambda: torch.randn(4, requires_grad=True).exp().sum().backward()))
    assert (found.dtypes, found.largest) == ((), ())


def test_float64_says_why_it_is_not_measured():
    with gt.record(level="precision") as recording:
        torch.randn(4, dtype=torch.float64, requires_grad=True).exp().sum().backward()
    assert "Results in float64 are not measured" in recording.precision()


@pytest.mark.parametrize("scale", [0.0, -4.0, float("inf"), float("nan")])
def test_a_scale_that_is_not_positive_and_finite_fits_nothing(scale):
    def work():
        w = torch.ones(2, requires_grad=True)
        opt, scaler = torch.optim.SGD([w], lr=0.1), torch.amp.GradScaler("cpu", init_scale=scale)
        scaler.scale((w * 2).sum()).backward()
        scaler.step(opt)

    trace = recorded(work)
    assert [one.fits for one in trace.precision.scales] == [0.0] and trace.left_out == ()


def test_an_operation_with_two_results_ran_once():
    def work():
        x = torch.randn(8, 8, requires_grad=True)
        first, second = x.bfloat16().chunk(2, -1)
        (first * second).float().sum().backward()

    (short, _) = answer(recorded(work)).dtypes
    assert (short.results, set(short.operations)) == (4, {"bfloat16", "chunk", "mul"})


@pytest.mark.parametrize(
    ("third", "others"), [(False, "adds about as much"), (True, "2 others add about as much")]
)
def test_operations_that_add_equal_parts_are_not_told_apart(third, others):
    def work():
        net, x = torch.nn.Linear(64, 64), torch.randn(8, 64)
        with torch.autocast("cpu", torch.bfloat16):
            a = copy.deepcopy(net)(x)
            b = copy.deepcopy(net)(x)
            if third:
                b = b.float() + copy.deepcopy(net)(x)
        (a.float().sum() + b.float().sum()).backward()

    found = answer(recorded(work)).largest[0]
    assert others in found and "no other" not in found


def test_a_row_that_adds_most_is_found_outside_the_sample(monkeypatch):
    """One row has another error than the others: it is added, where theirs is inherited."""
    from gradtrace.torch import precision_samples as samples

    def work():
        x, base, w = torch.randn(512, 512), torch.full((512, 512), 300.0), torch.randn(512, 512)
        row = next(i for i in range(100, 512) if i not in samples.places(512, samples.ROWS))
        base[row], x[row] = 0.0, torch.randn(512).round() * 1000
        ((x + base) - base) @ w

    (some,) = of_values(recorded(work), "matmul")
    monkeypatch.setattr("gradtrace.torch.precision_runs.sample_of", lambda *_: None)
    (every,) = of_values(recorded(work), "matmul")
    assert some.added == pytest.approx(every.added, rel=0.1) and every.added > 1


def test_a_finite_element_is_wrong_where_the_exact_one_is_infinite():
    """Rounding makes the first of two elements finite: its divisor is 0 in float64."""

    def work():
        w = torch.tensor([3.7, 0.3], requires_grad=True)
        1 / (torch.stack([(w[0] + 1) - 1 - w[0], w[1] * 1]))

    (row,) = of_values(recorded(work), "div")
    assert row.error == float("inf")


def test_what_rounds_to_0_without_being_small_is_not_called_underflow():
    """1e8 is 100139008 in bfloat16, and its other operand 1e8 in float32: the difference is 0 or 139008."""
    x = torch.tensor(0.3, dtype=torch.bfloat16, requires_grad=True)
    trace = recorded(lambda: ((x + 1e8) - 1e8).backward())
    assert not any("become 0" in one.cause.sentence for one in answer(trace).losses)


def test_an_error_is_said_in_digits():
    trace = recorded(lambda: ((torch.tensor(1e4, requires_grad=True) + 1).sqrt() - 100).backward())
    (first,) = answer(trace).losses
    said = first.cause.evidence[0].text
    assert said.startswith("sub: it adds no error and inherits an error that leaves ")
    assert "what it inherits is 20,00" in said and "times its input's error" in said


def test_what_numpy_writes_is_read_as_it_is():
    def work():
        x = torch.rand(64).half() / 3
        x.exp()
        x.numpy()[:] = 2
        x.log()

    (row,) = of_values(recorded(work), "log")
    assert row.inherited == 0


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_a_sample_of_a_large_product_shows_its_added_error(scale):
    """A few rows of the first operand, and so of the result's errors, are much larger than the others."""
    x, w = (
        torch.randn(*shape, generator=torch.Generator().manual_seed(3))
        for shape in ((700, 256), (256, 300))
    )
    x[100:140] *= scale
    a, b = x.bfloat16(), w.bfloat16()
    (row,) = of_values(recorded(lambda: (a / 3) @ (b / 3)), "matmul")
    left, right = a / 3, b / 3
    shadow, local = (a.double() / 3) @ (b.double() / 3), left.double() @ right.double()
    size = float(shadow.norm()) * 2**-8
    assert row.added == pytest.approx(
        float(((left @ right).double() - local).norm()) / size, rel=0.1
    )
    assert row.inherited == pytest.approx(float((local - shadow).norm()) / size, rel=0.1)
    assert row.error == pytest.approx(
        float(((left @ right).double() - shadow).norm()) / size, rel=1e-4
    )


def shares_with_and_without_sampling(monkeypatch, work, name):
    (some,) = of_values(recorded(work), name)
    monkeypatch.setattr("gradtrace.torch.precision_runs.sample_of", lambda *_: None)
    (every,) = of_values(recorded(work), name)
    assert some.error == pytest.approx(every.error) and some.added != every.added
    return zip(
        [one.share for one in some.sources], [one.share for one in every.sources], strict=True
    )


@pytest.mark.parametrize("shape", [(768, 256), (256, 768)])
def test_the_shares_of_a_sample_are_those_of_all_rows(monkeypatch, shape):
    """Most rows (or columns) have small errors, and the others get different parts of theirs from the two operands."""
    rows, columns = shape

    def work():
        torch.manual_seed(0)
        sizes, parts = (
            torch.ones(max(shape)),
            torch.logspace(-1, 1, max(shape))[torch.randperm(max(shape))],
        )
        sizes[96:] = 1e-3
        many, few = torch.randn(max(shape), 512) * sizes[:, None], torch.randn(512, min(shape)) / 3
        many = (many + parts[:, None] * sizes[:, None]) - parts[:, None] * sizes[:, None]
        (many @ few) if rows > columns else few.T @ many.T

    for some, every in shares_with_and_without_sampling(monkeypatch, work, "matmul"):
        assert some == pytest.approx(every, abs=0.03)


def test_the_shares_of_a_sample_of_attention_are_those_of_all_heads(monkeypatch):
    """Each head has another part of its error from its values."""

    def work():
        torch.manual_seed(0)
        q, k, v = (torch.randn(8, 4, 128, 32) / 3 for _ in range(3))
        far = torch.logspace(-1, 2, 32)[torch.randperm(32)].view(8, 4, 1, 1)
        torch.nn.functional.scaled_dot_product_attention(q.requires_grad_(), k, (v + far) - far)

    for some, every in shares_with_and_without_sampling(
        monkeypatch, work, "scaled_dot_product_attention"
    ):
        assert some == pytest.approx(every, abs=0.03)


@pytest.mark.parametrize("small", [2.0**-6, 2.0**-12, 2.0**-20])
def test_a_large_bfloat16_product_that_cancels_has_its_own_error(small):
    """The parts of a row that cancel are so much larger than the rest that float32 would lose digits of it."""
    x = torch.randn(256, 256, generator=torch.Generator().manual_seed(3)).bfloat16()
    a, b = (
        torch.cat([x, -x, small * x], 1),
        torch.cat([torch.ones(512, 64), torch.eye(256)[:, :64]]).bfloat16(),
    )
    (row,) = of_values(recorded(lambda: (a / 1) @ (b / 3)), "matmul")
    shadow = a.double() @ (b.double() / 3)
    wanted = float((((a / 1) @ (b / 3)).double() - shadow).norm() / shadow.norm()) * 2**8
    assert row.error == pytest.approx(wanted, rel=1e-4)


def test_a_moved_result_has_the_errors_of_its_input_in_the_same_call():
    """`contiguous` copies what is transposed, and the call multiplies the copy."""

    def work():
        x = torch.randn(4, 300, 16, generator=torch.Generator().manual_seed(3)).bfloat16() / 3
        y = x.transpose(0, 1).contiguous()
        torch.nn.functional.linear(x.transpose(0, 1), torch.ones(8, 16).bfloat16())
        return y

    trace = recorded(work)
    (copied,), (made,) = of_values(trace, "contiguous"), of_values(trace, "div")
    (row,) = of_values(trace, "linear")
    assert (copied.added, copied.error) == (0.0, made.error)
    assert 0 < row.inherited < row.error**2 + 1 and row.sources[0].share > 0
