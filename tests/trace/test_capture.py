"""Runs of the engine frozen as traces."""

import warnings

import pytest
from statements import leaf, run, trace

import gradtrace
from gradtrace import nn
from gradtrace.engine import Function
from gradtrace.trace.capture import capture
from gradtrace.trace.labels import operand_texts, period
from gradtrace.trace.record import FunctionEdge, Operand


def labels(t):
    return [tensor.label for tensor in t.tensors]


def test_the_notes_example():
    t = trace("a = x + w\nb = w + 1\ny = a * b\n", x=leaf(2.0), w=leaf(1.0))
    assert labels(t) == ["x", "w", "a", "b", "y"]
    assert [tensor.kind for tensor in t.tensors] == [
        "leaf",
        "leaf",
        "nonleaf",
        "nonleaf",
        "nonleaf",
    ]
    assert [tensor.value.data for tensor in t.tensors] == [2.0, 1.0, 3.0, 2.0, 6.0]
    assert [tensor.grad and tensor.grad.data for tensor in t.tensors] == [
        2.0,
        5.0,
        None,
        None,
        None,
    ]
    assert [op.label for op in t.operations] == ["add", "add 1", "mul"]
    assert t.operations[1].inputs == (Operand(1, "", 0, "self", 0), Operand(None, "1", 1, "other"))
    assert [f.name for f in t.functions] == ["AddBackward0", "AddBackward0", "MulBackward0"] + [
        "AccumulateGrad"
    ] * 2
    assert [(e.source, e.target) for e in t.function_edges] == [
        (0, 3),
        (0, 4),
        (1, 4),
        (2, 0),
        (2, 1),
    ]
    assert t.roots == t.outputs == (4,)
    assert t.tensor("y").is_root and t.tensor("y").is_output
    assert [tensor.span and tensor.span.line for tensor in t.tensors] == [None, None, 1, 2, 3]


def test_ids_are_indices():
    t = trace("y = (x * 2).exp() + x", x=leaf(0.5))
    for part in (t.tensors, t.operations, t.functions):
        assert [record.id for record in part] == list(range(len(part)))


def test_a_square_has_two_operands_and_two_edges():
    t = trace("y = x * x", x=leaf(3.0))
    assert [operand.tensor for operand in t.operations[0].inputs] == [0, 0]
    assert t.function_edges == (FunctionEdge(0, 1, 0, 0), FunctionEdge(0, 1, 1, 0))


def test_the_same_run_gives_the_same_trace():
    def once():
        return trace("a = x * w\ny = (a - 2) ** 2", x=leaf(1.5), w=leaf(3.0))

    first = once()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert first == once()


def test_capture_does_not_warn_about_gradients_of_non_leaves():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        recorded = trace("a = x * 2\ny = a * a", x=leaf(1.0))
    assert [t.name for t in recorded.tensors if t.name] == ["x", "a", "y"]


def test_values_are_copies():
    x = leaf([1.0, 2.0])
    t = trace("y = (x * x).sum()", x=x)
    with gradtrace.no_grad():
        x.mul_(10)
    assert t.tensor("x").value.data.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError):
        t.tensor("x").value.data[0] = 5


def test_dtypes_and_shapes():
    t = trace("n = x > 0\ny = (x * 2).sum()", x=leaf([[1.0, 2.0, 3.0]], dtype=gradtrace.float32))
    assert t.tensor("x").value[:2] == ((1, 3), "float32")
    assert t.tensor("n").value[:2] == ((1, 3), "bool")
    assert t.tensor("n").kind == "result"


@pytest.mark.parametrize(
    ("text", "label", "constants"),
    [
        ("y = 2 - x", "sub 2", [0]),
        ("y = x - 2", "sub 2", [1]),
        ("y = 2 ** x", "pow 2", [0]),
        ("y = x ** 2", "pow 2", [1]),
        ("y = 2 / x", None, [0]),
        ("y = x * 0.5", "mul 0.5", [1]),
    ],
)
def test_constants_stand_where_the_source_has_them(text, label, constants):
    t = trace(text, x=leaf(3.0))
    last = t.operations[-1]
    if label is not None:
        assert last.label == label
        assert [operand.position for operand in last.inputs if operand.tensor is None] == constants
    assert not any("_" in op.name for op in t.operations)


def test_options_are_named():
    t = trace("y = x.sum(0).sum()", x=leaf([[1.0, 2.0]]))
    assert t.operations[0].label.startswith("sum dim=")


def test_notes_say_why_a_gradient_is_none():
    t = trace(
        "a = x * 2\nd = x.detach()\nz = w * 1\ny = a * c",
        x=leaf(1.0),
        w=leaf(2.0),
        c=leaf(1.0, requires_grad=False),
    )
    notes = {tensor.label: tensor.grad_note for tensor in t.tensors}
    assert notes["x"] == ""
    assert notes["a"] == "non-leaf: not retained (--retain-grad)"
    assert notes["c"] == "requires_grad is False"
    assert notes["w"] == "not reached by backward"
    before = trace("y = x * 2", backward=False, x=leaf(1.0))
    assert before.tensor("x").grad_note == "backward was not run"


def test_retained_gradients():
    done = run("a = x * 2\ny = a * a", x=leaf(1.0))
    done.env["a"].retain_grad()
    done.root.backward()
    a = capture(done, [done.root], 1).tensor("a")
    assert a.retains_grad and a.grad.data == 4.0 and a.grad_note == ""


def test_kinds_of_leaves():
    t = trace("y = x * d * torch.tensor(2.0)", x=leaf(1.0), d=leaf(1.0, requires_grad=False))
    assert {tensor.label: tensor.kind for tensor in t.tensors if tensor.op is None} == {
        "x": "leaf",
        "d": "data",
        "torch.tensor(2.0)": "constant",
    }


def test_saved_values_and_their_release():
    done = run("a = x + w\ny = a.exp() * a", x=leaf(1.0), w=leaf(0.0))
    before = capture(done, [done.root])
    saved = {
        f.name: [(s.name, before.tensors[s.tensor].label) for s in f.saved]
        for f in before.functions
    }
    assert saved["MulBackward0"] == [("self", "exp in a.exp() * a"), ("other", "a")]
    assert saved["ExpBackward0"] == [("result", "exp in a.exp() * a")]
    assert not any(f.freed for f in before.functions)
    done.root.backward()
    after = capture(done, [done.root], 1)
    assert {f.name: f.freed for f in after.functions} == {
        "AddBackward0": False,
        "ExpBackward0": True,
        "MulBackward0": True,
        "AccumulateGrad": False,
    }
    assert [f.saved for f in after.functions] == [f.saved for f in before.functions]


class TwoResults(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, g, h):
        return g * 2 + h * 3


def test_a_custom_function_with_two_results():
    t = trace(
        "p, q = f(x)\ny = p * q".replace("p, q = f(x)", "pq = f(x)\np = pq[0]\nq = pq[1]"),
        x=leaf(2.0),
        f=TwoResults.apply,
    )
    op = t.operations[0]
    assert (op.name, op.grad_fn, len(op.outputs)) == ("TwoResults", "TwoResultsBackward", 2)
    function = t.functions[op.function]
    assert [t.tensors[i].label for i in function.outputs] == ["p", "q"]
    assert {(e.input_index, e.output_nr) for e in t.function_edges if e.target == function.id} == {
        (0, 0),
        (1, 1),
    }


def test_custom_saved_tensors_are_listed():
    done = run("pq = f(x)\ny = pq[0] + pq[1]", x=leaf(2.0), f=TwoResults.apply)
    t = capture(done, [done.root])
    assert [(s.name, t.tensors[s.tensor].label) for s in t.functions[0].saved] == [
        ("saved_tensors[0]", "x")
    ]


def test_in_place_makes_a_new_version():
    t = trace("a = x * 2\na.add_(1)\ny = a * 3", x=leaf(1.0))
    assert labels(t) == ["x", "a (version 0)", "a", "y"]
    old, new = t.tensors[1:3]
    assert (old.grad_fn, old.value.data, old.version) == ("MulBackward0", 2.0, 0)
    assert (old.grad, old.grad_note) == (None, "overwritten in place")
    assert (new.grad_fn, new.value.data, new.version) == ("AddBackward0", 3.0, 1)
    assert t.operations[1].name == "add_"
    assert (t.operations[1].inputs[0].tensor, t.operations[1].outputs) == (1, (2,))
    assert [name for name, _ in t.names] == ["x", "a", "y"]
    assert all(
        operand.tensor is None or operand.tensor < op.outputs[0]
        for op in t.operations
        for operand in op.inputs
    )


def test_in_place_through_a_view_changes_the_base():
    t = trace("a = x * 2\nv = a[0]\nv.mul_(5)\ny = a.sum()", x=leaf([1.0, 2.0]))
    assert t.tensor("a").grad_fn == "CopySlices"
    assert t.tensor("a").version == 1
    assert t.tensor("x").grad.data.tolist() == [10.0, 2.0]
    changed = next(op for op in t.operations if op.name == "mul_")
    assert t.tensor("a").id in changed.outputs and t.tensor("v").id in changed.outputs


def test_a_training_loop_keeps_the_leaf_as_the_last_step_saw_it():
    w, x = leaf(5.0), leaf(2.0, requires_grad=False)
    done = run(
        "for i in range(4):\n    loss = (w * x - 6) ** 2\n    loss.backward()\n    with torch.no_grad():\n"
        "        w -= 0.01 * w.grad\n    w.grad.zero_()\nroot = loss",
        w=w,
        x=x,
    )
    t = capture(done, [done.root], 0)
    assert [tensor.label for tensor in t.tensors if tensor.kind == "leaf"] == ["w (version 3)", "w"]
    assert len(t.operations) == 3


def test_everything_on_request():
    done = run("a = x * 2\nx = a * 3\na = x + 1", x=leaf(1.0))
    assert len(capture(done, [done.root]).tensors) == 4
    aside = run("a = (x * 2).exp()\na = x + 1", x=leaf(1.0))
    assert len(capture(aside, [aside.root]).tensors) == 2
    assert len(capture(aside, [aside.root], everything=True).tensors) == 4


def test_a_rebound_input_keeps_its_place():
    t = trace("x = x * 2\ny = x * 3", x=leaf(1.0))
    assert t.tensors[0].kind == "leaf" and t.tensors[0].name is None
    assert t.tensors[0].grad.data == 6.0
    assert t.tensor("x").grad_fn == "MulBackward0"


def test_second_names_are_kept():
    t = trace("a = x * 2\nb = a\ny = b * b", x=leaf(1.0))
    assert t.tensor("b").label == "a"
    assert t.tensor("b").names == ("a", "b")


def test_names_within_containers():
    done = run("y = p[0] * p[1]", p=[leaf(1.0), leaf(2.0)])
    assert labels(capture(done, [done.root])) == ["p[0]", "p[1]", "y"]


def test_what_a_module_holds_in_plain_lists_has_its_path():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scales = [leaf(1.0), leaf(2.0)]
            self.more = {"last": nn.Bilinear(1, 1, 1), "whole": self}

    t = trace("y = net.scales[0] * net.scales[1] * net.more['last'].bias", net=Net())
    assert labels(t)[:2] == ["net.scales[0]", "net.scales[1]"]
    assert t.tensor("net.more['last'].bias").is_leaf


def test_repeated_expressions_are_numbered():
    t = trace("t = x\nfor i in range(3):\n    t = t * 2\ny = t + 1", x=leaf(1.0))
    shown = labels(t)
    assert shown[0] == "x" and shown[-2:] == ["t", "y"]
    assert shown[1].endswith("#1") and shown[2].endswith("#2")


def test_steps_within_a_call_are_not_its_result():
    t = trace("y = f(x)\nz = y.sum()", x=leaf(1.0), f=lambda a: (a * 2 + 1) * 3)
    assert labels(t) == ["x", "mul in f(x)", "add in f(x)", "y", "z"]


@pytest.mark.parametrize(
    ("names", "length"),
    [("a", 1), ("aaa", 1), ("abab", 2), ("aba", 3), ("abcabc", 3), ("aabaab", 3), ("tarta", 5)],
)
def test_a_loop_shows_as_a_pattern(names, length):
    assert period(list(names)) == length


@pytest.mark.parametrize(
    ("text", "operands"),
    [
        ("a + 1", ["a", "1"]),
        ("x.mul(torch.ones(2))", ["x", "torch.ones(2)"]),
        ("torch.where(m, x, 0.)", ["m", "x", "0."]),
        ("torch.nn.functional.relu(x)", ["x"]),
        ("torch.cat([a, f(b)])", ["a", "f(b)"]),
        ("x[i]", []),
        ("(", []),
    ],
)
def test_operands_as_written(text, operands):
    assert operand_texts(text, {"torch": type("module", (), {})(), "x": leaf(1.0)}) == operands


def test_constants_take_the_operands_text():
    t = trace("y = (x > 0).sum() * x.sum() * torch.tensor(3.0)", x=leaf([1.0, -1.0]))
    assert labels(t)[-2:] == ["torch.tensor(3.0)", "y"]
    dropped = trace("y = torch.nn.functional.dropout(x, 0.5)", backward=False, x=leaf([1.0, 2.0]))
    assert labels(dropped) == ["x", "constant", "y"]


def test_targets_indices_and_masks_are_operands():
    t = trace(
        "logits = x[i]\nmasked = x.masked_fill(m, 0.0)\nloss = torch.nn.functional.cross_entropy(logits, goal)\n"
        "y = loss + masked.sum()",
        x=leaf([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        i=gradtrace.tensor([0, 2]),
        goal=gradtrace.tensor([1, 0]),
        m=gradtrace.tensor([[True, False], [False, True], [False, False]]),
    )
    used = {
        op.name: [t.tensors[o.tensor].label for o in op.inputs if o.tensor is not None]
        for op in t.operations
    }
    assert used["index"] == ["x", "i"]
    assert used["masked_fill"] == ["x", "m"]
    assert used["nll_loss"][1] == "goal"
    assert {op.name: op.label for op in t.operations}["nll_loss"] == "nll_loss"


def test_a_step_after_backward_leaves_the_graph_as_it_was():
    model, x = gradtrace.nn.Linear(2, 1), leaf([[1.0, 2.0]], dtype=gradtrace.float32)
    done = run("y = model(x).sum()", model=model, x=x)
    done.root.backward()
    gradtrace.optim.SGD(model.parameters(), lr=0.1).step()
    t = capture(done, [done.root], 1)
    assert [f.name for f in t.functions] == [
        "TBackward0",
        "AddmmBackward0",
        "SumBackward0",
        "AccumulateGrad",
        "AccumulateGrad",
        "AccumulateGrad",
    ]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("y = torch.addmm(b, x, x)", "addmm"),
        ("y = torch.add(x, x, alpha=2)", "add alpha=2"),
        ("y = x.softmax(-1)", "softmax dim=1"),
        ("y = x.to(torch.float32)", "to dtype=float32"),
        ("y = x.std()", "std"),
        ("y = x.reshape(4)", "view shape=(4,)"),
        ("y = x.sort(dim=0).values", "sort dim=0"),
        ("y = x[:, k]", "index indices=(:, tensor)"),
    ],
)
def test_labels_leave_defaults_out(text, label):
    t = trace(
        text,
        backward=False,
        x=leaf([[1.0, 2.0], [3.0, 4.0]]),
        b=leaf([1.0, 1.0]),
        k=gradtrace.tensor([0]),
    )
    assert t.operations[-1].label == label


def test_the_gradient_of_create_graph_has_a_grad_fn():
    done = run("y = x ** 3", x=leaf(2.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done.root.backward(create_graph=True)
    assert capture(done, [done.root], 1).tensor("x").grad_fn_of_grad is not None
    done.env["x"].grad = None  # breaks the cycle that create_graph makes


def test_a_deep_graph_needs_no_recursion():
    x = leaf(1.0)
    records = []
    from gradtrace.engine.data.state import state

    state.set(recorder=lambda *call: records.append(call))
    y = x
    for _ in range(20_000):
        y = y * 1.0
    state.set(recorder=None)
    done = run("", x=x)
    done.records, done.root, done.env = records, y, {"x": x, "y": y}
    t = capture(done, [y])
    assert len(t.operations) == 20_000
    assert len(t.functions) == 20_001
