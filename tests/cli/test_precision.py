"""--precision: which operations lose digits (why), the correct digits beside values (eval), colours (graph)."""

import json

import pytest

CANCELS = ("sqrt(x+1)-sqrt(x)", "--x", "1e12")
LOOP = """import torch
torch.manual_seed(1)
w = torch.randn(4, requires_grad=True)
x = torch.randn(3, 4)
opt = torch.optim.SGD([w], lr=0.1)
for i in range(3):
    opt.zero_grad()
    h = x @ w
    loss = ((h + 1e6) - 1e6 - h).square().sum() + h.sum()
    loss.backward()
    opt.step()
"""


def document(answer, *args):
    return json.loads(answer("why", "--precision", *args, "--format", "json"))


def test_why_names_the_cancellation_and_tries_the_rewrite(answer):
    printed = answer("why", "--precision", *CANCELS)
    assert (
        "sqrt(x+1)-sqrt(x) cancels: it is 12.3 decimal orders smaller than its summands" in printed
    )
    assert "To fix it (tried):\n  - (x + 1 - x) / (sqrt(x + 1) + sqrt(x)): " in printed


def test_the_error_after_the_rewrite_is_computed(answer):
    losses = document(answer, *CANCELS)["losses"]
    value = next(one for one in losses if not one["gradient"])
    assert value["tried"] == [value["advice"][0]]
    assert value["advice"][0].endswith("has 15.9 correct decimal digits then")


@pytest.mark.parametrize(
    ("expression", "x", "better"),
    [
        ("log(1 + x)", "1e-10", "log1p(x)"),
        ("exp(x) - 1", "1e-10", "expm1(x)"),
        ("1 - cos(x)", "1e-5", "2 * sin(x / 2) ** 2"),
        ("log(1 - sigmoid(x))", "40", "logsigmoid(-x)"),
        ("log(1 + exp(x))", "-40", "softplus(x)"),
        ("log(sigmoid(x))", "-800", "logsigmoid(x)"),
        ("sqrt(x*x + x**2)", "1e-200", "hypot(x, x)"),
    ],
)
def test_usual_rewrites_are_tried_with_success(answer, expression, x, better):
    first = document(answer, expression, "--x", x)["losses"][0]
    assert first["tried"]
    assert first["tried"][0].startswith(f"{better}: ")


@pytest.mark.parametrize(
    ("expression", "better"),
    [
        ("(x * x).mean(0) - x.mean(0) ** 2", "mean((x - mean(x, 0, keepdim=True)) ** 2, 0)"),
        (
            "mean(x**2, 1, True) - mean(x, 1, True)**2",
            "mean((x - mean(x, 1, keepdim=True)) ** 2, 1, keepdim=True)",
        ),
        ("(x * x).mean() - x.mean() ** 2", "mean((x - mean(x)) ** 2)"),
        ("exp(-10000 * x).sum(1).log()", "logsumexp(-10000 * x, 1)"),
        ("exp(-10000 * x).sum().log()", "logsumexp(-10000 * x, (0, 1))"),
    ],
)
def test_a_rewrite_has_the_dims_of_the_expression(answer, expression, better):
    losses = document(
        answer, f"({expression}).sum()", "--x", "[[1, 1.00000001, 1.00000002], [1, 1.00000004, 1]]"
    )["losses"]
    assert any(advice.startswith(f"{better}: ") for one in losses for advice in one["tried"])


def test_dims_that_differ_are_no_variance(answer):
    printed = answer(
        "why",
        "--precision",
        "(mean(x**2, 1, True) - mean(x)**2).sum()",
        "--x",
        "[[1, 1.00000001], [1, 1]]",
    )
    assert "** 2, " not in printed and "cancels" in printed


UNDERFLOW = """import torch
x = torch.tensor([-120., 3.], requires_grad=True)
p = torch.exp(x)
q = p / (1 + p)
loss = -torch.log(q).sum()
loss.backward()
"""


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (
            ("log(sigmoid(x))", "--x", "-800"),
            "elements of sigmoid(x) become 0: they are below the smallest number of float64",
        ),
        (("exp(-x).log()", "--x", "2000"), "1 of 1 elements of exp(-x) become 0"),
        (
            (UNDERFLOW,),
            "loss is not finite: on line 3, 1 of 2 elements of p become 0: they are as small as 7.67e-53",
        ),
    ],
)
def test_a_logarithm_of_what_became_0_is_an_underflow(answer, here, args, said):
    if args == (UNDERFLOW,):
        here.joinpath("p.py").write_text(UNDERFLOW)
        args = ("p.py",)
    printed = " ".join(answer("why", "--precision", *args).split())
    assert (
        said in printed
        and "near 1" not in printed
        and "compute it in float64" not in printed * ("p.py" not in args)
    )


def test_a_rewrite_that_does_not_help_is_not_shown(answer):
    printed = answer(
        "why",
        "--precision",
        "(exp(x) - 1) * 0 + (y - z)",
        "--x",
        "3",
        "--y",
        "1",
        "--z",
        "1.0000000001",
    )
    assert "expm1" not in printed


def test_a_clean_expression_is_one_line(answer):
    printed = answer("why", "--precision", "x*w + sin(x)", "--x", "1", "--w", "2")
    assert " ".join(printed.split()) == (
        "No operation loses precision: x*w + sin(x), the least precise result, has 16.0 of the 16.0 decimal digits of "
        "float64."
    )


def test_why_about_one_name(answer):
    source = "a = (x + 1) - x; b = x * 3; a + b"
    found = document(answer, source, "--x", "1e10", "b")
    assert found["losses"] == []
    assert {one["name"] for one in found["targets"]} == {"b", "b.grad"}


def test_why_takes_one_name(refusal):
    code, message = refusal("why", "--precision", "x*w", "--x", "1", "--w", "1", "x", "w")
    assert code == 2
    assert "explains one NAME at a time" in message


def test_all_shows_both_numbers_of_each_operation(answer):
    found = document(answer, "exp(x) - 1", "--x", "1e-9", "--all")["operations"]
    sub = next(one for one in found if one["operation"] == "sub" and not one["gradient"])
    assert sub["added"] == 0
    assert sub["inherited"] > 1e7
    table = answer("why", "--precision", "exp(x) - 1", "--x", "1e-9", "--all")
    assert "operation  result" in table


def test_csv_has_a_row_for_each_loss(answer):
    head, first, *_ = answer("why", "--precision", *CANCELS, "--format", "csv").splitlines()
    assert head == "name,cause,sentence,digits,part,evidence,advice"
    assert first.startswith("x.grad,cancellation,")


def test_steps_of_a_loop_are_measured_one_by_one(answer, here):
    (here / "loop.py").write_text(LOOP)
    whole = document(answer, "./loop.py")
    step = document(answer, "./loop.py", "--step", "2")
    assert (
        whole["losses"][0]["evidence"][0]["line"] == step["losses"][0]["evidence"][0]["line"] == 9
    )
    assert 0 < len(step["targets"]) < len(whole["targets"])


def test_a_parameter_begins_each_step_without_an_error(answer, here):
    text = "import torch\nw = torch.tensor([0.1], requires_grad=True)\nfor i in range(60):\n"
    text += "    (w * 0.3).sum().backward()\n    with torch.no_grad():\n"
    text += "        w -= 0.01 * w.grad\n        w.grad.zero_()\n"
    (here / "loop.py").write_text(text)
    found = [
        one for one in document(answer, "./loop.py", "--all")["operations"] if one["line"] == 4
    ]
    assert len(found) > 60 * 3
    assert {
        one["inherited"] for one in found if one["operation"] == "mul" and not one["gradient"]
    } == {0}


def test_writes_through_data_do_not_leave_an_old_shadow(answer, here):
    text = "import torch\nw = torch.ones(3, requires_grad=True)\na = (w * 2).sum()\n"
    text += "w.data.mul_(3.0)\nb = (w * 2).sum()\n"
    (here / "data.py").write_text(f"{text}b.backward()\n")
    assert all(one["error"] < 1 for one in document(answer, "./data.py", "--all")["operations"])


def test_in_place_operations_and_views(answer, here):
    text = "import torch\nw = torch.tensor([0.1, 0.2], requires_grad=True)\nh = w * 1.1\nv = h[:1]\nv.mul_(3.3)\n"
    (here / "views.py").write_text(f"{text}h.exp_()\n(h * h).sum().backward()\n")
    found = document(answer, "./views.py", "--all")
    assert found["losses"] == []
    assert all(one["error"] < 8 for one in found["operations"])
    assert {"mul_", "exp_"} <= {one["operation"] for one in found["operations"]}


def test_random_numbers_and_results_are_those_of_the_run(answer, here):
    text = "import torch\ntorch.manual_seed(3)\nw = torch.ones(50, requires_grad=True)\n"
    text += "h = torch.nn.functional.dropout(w * 0.7, 0.5)\nloss = h.sum() + torch.rand(1).sum()\nloss.backward()\n"
    (here / "drawn.py").write_text(
        f"{text}print(loss.item(), w.grad.sum().item(), torch.rand(1).item())\n"
    )
    plain, measured = (answer("run", "./drawn.py"), document(answer, "./drawn.py"))
    assert measured["losses"] == []
    assert answer("run", "./drawn.py") == plain


def test_what_the_program_prints_is_unchanged(gt, here):
    text = "import torch\ntorch.manual_seed(3)\nw = torch.randn(5, requires_grad=True)\n"
    text += "torch.nn.functional.dropout(w.exp(), 0.5).sum().backward()\n"
    text += "print(w.grad.tolist(), torch.rand(2).tolist())\n"
    (here / "drawn.py").write_text(text)
    assert gt("run", "./drawn.py").stdout == gt("why", "--precision", "./drawn.py").stderr


def test_decisions_that_rounding_changed_are_said(answer, here):
    text = "import torch\nx = torch.tensor([0.1, 0.3], requires_grad=True)\nh = x * 3 - x - x - x\nmask = h > 0\n"
    (here / "decides.py").write_text(f"{text}(h * mask).sum().backward()\n")
    notes = document(answer, "./decides.py")["notes"]
    assert any("would be others without rounding errors" in note for note in notes)


def test_what_cannot_be_measured_is_said(answer, here):
    text = "import torch\nclass Double(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    text += (
        "        return x * 2\n    @staticmethod\n    def backward(ctx, g):\n        return g * 2\n"
    )
    text += "w = torch.ones(2, requires_grad=True)\nDouble.apply(w).sum().backward()\n"
    (here / "custom.py").write_text(text)
    notes = document(answer, "./custom.py")["notes"]
    assert notes == ["Not measured: Double: it is not an operator, so it cannot be computed again."]


def test_create_graph_and_a_second_pass(answer):
    found = document(
        answer, "x ** 3", "--x", "0.3", "--create-graph", "--backward", "2", "--retain-graph"
    )
    assert found["losses"] == []
    assert {one["name"] for one in found["targets"]} >= {"x ** 3", "x.grad of backward pass 2"}


def test_a_program_that_fails_is_measured_up_to_its_error(gt, here):
    (here / "fails.py").write_text(
        "import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 0.1\ny.backward()\n"
    )
    result = gt("why", "--precision", "./fails.py")
    assert result.exit_code == 1
    assert (
        "No operation loses precision" in result.stdout
        or "No floating-point result" in result.stdout
    )


def test_what_depends_on_unmeasured_results_has_no_digits(answer):
    printed = answer("why", "--precision", "1 - lgamma(x)", "--x", "6")
    assert " ".join(printed.split()) == (
        "Every result depends on an operation that was not measured. "
        "Not measured: lgamma: its kernel computes in float64."
    )
    y = json.loads(answer("eval", "1 - lgamma(x)", "--x", "6", "--precision", "--format", "json"))[
        "tensors"
    ][-1]
    assert y["digits"] is None


@pytest.mark.parametrize(
    ("expression", "x", "digits"),
    [
        ("erf(x)", 0.3, 16),
        ("1 - erf(x)", 2.7, 12.5),
        ("1 - erf(x)", 6, 0),
        ("erfc(x)", 2.7, 15.7),
        ("erfc(x)", 20, 15.5),
    ],
)
def test_error_functions_are_measured_in_float64(answer, expression, x, digits):
    """The digits are those of mpmath."""
    found = json.loads(
        answer("eval", expression, "--x", str(x), "--precision", "--format", "json")
    )["tensors"]
    assert found[-1]["digits"] == pytest.approx(digits, abs=0.6)
    assert found[0]["grad_digits"] > 14


# ---- eval


def test_eval_shows_correct_digits_beside_values_and_gradients(answer):
    found = json.loads(answer("eval", *CANCELS, "--precision", "--format", "json"))["tensors"]
    x, y = found[0], found[-1]
    assert 5 < y["digits"] < 5.3  # the value is 5.00003807e-07 instead of 4.99999999999875e-07
    assert 4 < x["grad_digits"] < 4.3
    assert x["digits"] is None
    table = answer("eval", *CANCELS, "--precision").splitlines()
    assert table[0].split()[:4] == ["name", "value", "digits", "shape"]
    assert table[0].endswith("grad digits")


def test_eval_without_precision_has_no_digits(answer):
    assert "digits" not in answer("eval", *CANCELS)
    assert "digits" not in answer("eval", *CANCELS, "--format", "json")


def test_digits_of_columns_in_csv(answer):
    head, *_ = answer("eval", *CANCELS, "--precision", "--format", "csv").splitlines()
    assert head.endswith(",digits,grad_digits")


# ---- graph


def test_graph_is_coloured_by_the_error(answer):
    source = answer("graph", *CANCELS, "--color-by", "precision")
    assert "relative error in roundings, logarithmic" in source
    assert source != answer("graph", *CANCELS, "--color-by", "grad-norm")


@pytest.mark.parametrize(
    ("expression", "x", "code"),
    [
        ("sqrt(x+1)-sqrt(x)", "1e25", "cancellation"),
        ("log(1+exp(x))", "-50", "rounded log"),
        ("1-cos(x)", "1e-10", "cancellation"),
        ("exp(x)-1", "1e-20", "cancellation"),
        ("((x+3)-x)*2", "1e20", "cancellation"),
        ("tanh(x)+1", "-25", "cancellation"),
    ],
)
def test_a_result_is_not_exact_where_the_wider_type_has_no_digits_left(answer, expression, x, code):
    found = document(answer, expression, "--x", x)
    first = found["losses"][0]
    assert (first["cause"], found["targets"][0]["digits"]) == (code, 0)
    assert first["digits"] > 15


@pytest.mark.parametrize(
    ("expression", "x"),
    [("x*3-6", "2"), ("exp(x-x.detach())-1", "2.3"), ("sin(x)-sin(x).detach()*0", "1e-9")],
)
def test_an_exact_difference_is_not_accused(answer, expression, x):
    assert document(answer, expression, "--x", x)["losses"] == []


def losses_of(answer, here, text):
    (here / "program.py").write_text(f"import torch\ntorch.manual_seed(0)\n{text}")
    return document(answer, "./program.py")["losses"]


SATURATED = """z = torch.tensor([12.0, 20.0, -3.0], requires_grad=True)
p = torch.sigmoid(z)
loss = torch.log(1 - p).mean()
loss.backward()
"""
BEHIND_A_VIEW = """z = torch.tensor([[20.0, -20.0, 3.0], [30.0, 1.0, 2.0]], requires_grad=True)
p = z.softmax(-1)
loss = -(1 - p[:, 0]).log().sum()
loss.backward()
"""


@pytest.mark.parametrize(("text", "count"), [(SATURATED, "1 of 3"), (BEHIND_A_VIEW, "2 of 6")])
def test_a_logarithm_of_zero_comes_from_what_was_rounded_to_one(answer, here, text, count):
    losses = losses_of(answer, here, text)
    assert (
        losses[0]["cause"] == "saturation"
        and f"{count} elements of p are rounded to 1" in losses[0]["sentence"]
    )
    assert all(one["digits"] < 7.3 for one in losses)
    assert not any("log1p(" in advice for advice in losses[0]["advice"])


def test_a_loss_that_is_0_by_construction_is_not_accused(answer, here):
    text = """x = torch.randn(50)
x = x - x.mean()
w = torch.ones(50, requires_grad=True)
(x * w).sum().backward()
"""
    assert losses_of(answer, here, text) == []


def test_an_intermediate_result_that_overflows_is_told_from_the_result(answer, here):
    text = "x = torch.tensor([1e30, 1e30], requires_grad=True)\nx.norm().backward()\n"
    first = losses_of(answer, here, text)[0]
    assert "up to 1.41e+30, so an intermediate result overflows float32" in first["sentence"]


def test_a_part_that_is_less_precise_than_the_whole_is_said(answer, here):
    text = """x = torch.tensor([-10.0, -12.0, -9.5, -0.3], requires_grad=True)
t = torch.tanh(x)
y = (t + 1)[:3].sum()
y.backward()
"""
    first = next(one for one in losses_of(answer, here, text) if one["name"] == "y")
    assert "elements of t + 1 are used that have larger relative errors" in first["sentence"]


def test_what_numpy_writes_has_no_error(answer, here):
    text = """x = torch.rand(8) * 0.1
x.numpy()[:] = [1, 2, 3, 4, 5, 6, 7, 8]
w = torch.ones(8, requires_grad=True)
loss = (x * w).sum()
loss.backward()
"""
    assert losses_of(answer, here, text) == []


def test_an_expression_that_occurs_twice_has_one_answer(answer):
    (only,) = document(answer, "exp(x)/(exp(x)+1)", "--x", "800")["losses"]
    assert only["tried"][0].startswith("sigmoid(x): ")


def test_one_minus_the_square_of_tanh_has_a_rewrite(answer):
    losses = document(answer, "log(1 - tanh(x)**2 + 1e-6)", "--x", "8")["losses"]
    assert any(advice.startswith("1 / cosh(x) ** 2: ") for one in losses for advice in one["tried"])


SCALED = """import torch, random
torch.manual_seed(0)
w = torch.randn(8, 4).requires_grad_()
x = torch.randn(16, 8).half()
opt = torch.optim.SGD([w], lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=SCALE)
loss = (x @ w.half()).float().pow(2).mean() + random.random() * 0
scaler.scale(loss).backward()
scaler.step(opt)
"""


def scaled(answer, here, scale):
    (here / "scaled.py").write_text(SCALED.replace("SCALE", str(scale)))
    return document(answer, "./scaled.py")["losses"]


def test_a_skipped_step_has_the_largest_scale_that_fits(answer, here):
    first = scaled(answer, here, 2.0**24)[0]
    assert (
        first["cause"] == "skipped step"
        and "the gradients of w are not finite" in first["sentence"]
    )
    fits = float(first["advice"][0].partition("init_scale=")[2].partition(")")[0])
    assert scaled(answer, here, fits) == []
    assert scaled(answer, here, 2 * fits)[0]["cause"] == "skipped step"


def test_a_record_has_the_measured_errors(answer, gt, here):
    """The program draws numbers of `random`, so its record cannot be run again."""
    (here / "scaled.py").write_text(SCALED.replace("SCALE", "2.0**24"))
    answer("run", "./scaled.py", "-o", "plain.gt")
    assert gt("why", "--precision", "plain.gt").exit_code == 2
    answer("run", "./scaled.py", "-o", "run.gt", "--precision")
    assert document(answer, "run.gt")["losses"][0]["cause"] == "skipped step"


def test_run_measures_only_for_a_record(refusal, here):
    (here / "p.py").write_text("import torch\nprint(torch.ones(2).exp())\n")
    code, message = refusal("run", "p.py", "--precision")
    assert code == 2 and "add -o FILE.gt" in message


@pytest.mark.parametrize("scale", ["-4.0", "0.0", "float('inf')"])
def test_a_scale_that_is_not_positive_and_finite_names_no_other(answer, here, scale):
    for one in scaled(answer, here, scale):
        assert "GradScaler" not in str(one["advice"])


def test_a_scale_of_0_divides_as_in_pytorch(answer, here):
    (here / "scaled.py").write_text(SCALED.replace("SCALE", "0.0") + "print(w.isnan().all())\n")
    assert "tensor(True)" in answer("run", "./scaled.py")
