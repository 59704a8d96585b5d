"""Operator records, as units: signatures, fields, plans, classes of nodes."""

import numpy
import pytest

import gradtrace as torch
from gradtrace import ops
from gradtrace.engine.data.node import DROP, META, SAVE
from gradtrace.engine.operators.namespace import ARRAY
from gradtrace.engine.operators.op import (
    KINDS,
    ZEROS,
    Op,
    d,
    elementwise_op,
    float_op,
    op,
    records,
    view_op,
)
from gradtrace.engine.reverse.plan import plan_of


@pytest.fixture
def made():
    """made(signature, kernel, **fields) -> a record that is forgotten after the test."""
    ops.load()  # what a test loads would be forgotten, too
    known = dict(records)
    yield op
    for name in records.keys() - known.keys():
        del records[name]


def test_a_signature_has_tensors_then_plain_arguments(made):
    record = made("unit_of_test(self, *others; dim, keepdim)", "add", kind="structural")
    assert record.name == "unit_of_test" and record.arity == 2 and record.variadic
    assert record.tensor_names == ("self", "*others") and record.bare_names == ("self", "others")
    assert record.plain_names == ("dim", "keepdim") and repr(record) == "<operator unit_of_test>"
    assert records["unit_of_test"] is record and not record.has_gradient


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "elementwise", "knid": 1}, "unknown fields knid"),
        ({"kind": "pointless"}, "kind 'pointless' is not one of"),
        ({"kind": "elementwise", "zero": "never"}, "zero 'never' is not one of"),
        ({"kind": "elementwise", "self": lambda xp, g, out, self: g}, "a rule without the names"),
        ({"kind": "elementwise", "self": "mul(grad, other)"}, r"unit_of_test: other in a rule: mul\(grad, other\)"),
        ({"kind": "elementwise", "self": d("self", "mul(g, self)")}, "unit_of_test: g in a rule"),
    ],
)  # fmt: skip
def test_a_field_that_is_wrong_is_named(made, fields, message):
    with pytest.raises(AssertionError, match=message):
        made("unit_of_test(self)", "negative", **fields)
    assert "unit_of_test" not in records


def test_a_name_is_taken_once(made):
    made("unit_of_test(self)", "negative", kind="elementwise")
    with pytest.raises(AssertionError, match="unit_of_test"):
        made("unit_of_test(self)", "negative", kind="elementwise")


def test_the_node_is_named_after_the_operator(made):
    rule = lambda xp, g, out, self: g
    assert (
        made("unit_of_test(self)", "negative", kind="elementwise", self=d("", rule)).node
        == "UnitOfTestBackward0"
    )
    assert (
        made("unit_of_test2(self)", "negative", kind="elementwise", joint=d("", rule)).node
        == "UnitOfTest2Backward0"
    )
    assert made("unit_of_test3(self)", "negative", kind="elementwise").node is None
    assert (
        made(
            "unit_of_test4(self)", "negative", kind="elementwise", node="Other", self=d("", rule)
        ).node
        == "Other"
    )


@pytest.mark.parametrize(
    ("factory", "kind", "promote", "view"),
    [
        (elementwise_op, "elementwise", None, False),
        (float_op, "elementwise", "float", False),
        (view_op, "view", None, True),
    ],
)
def test_a_factory_gives_the_kind_and_the_usual_fields(made, factory, kind, promote, view):
    record = factory("unit_of_test(self)", "negative", "-self")
    assert (record.kind, record.promote, record.view, record.formula) == (
        kind,
        promote,
        view,
        "-self",
    )
    assert view_op("unit_of_test2(self)", "negative", view=False).view is False


def test_unsupported_dtypes_are_kinds_and_a_text(made):
    record = elementwise_op(
        "unit_of_test(self)", "negative", unsupported_dtypes="bi a text of several words"
    )
    assert record.unsupported_dtypes == ("bi", "a text of several words")
    with pytest.raises(RuntimeError, match="a text of several words"):
        record(torch.tensor([1, 2]))


def test_a_derivative_splits_the_names_it_needs():
    rule = lambda xp, g, out, self: g
    assert d("self out", rule) == (("self", "out"), rule, rule) and d("", rule).needs == ()
    traced = lambda xp, g, out, self: -g
    assert d("", rule, traced).traced is traced


@pytest.mark.parametrize(
    ("name", "mask", "actions", "saves_result"),
    [
        ("mul", 0b11, (SAVE, SAVE), False),
        ("mul", 0b01, (DROP, SAVE), False),  # the gradient of the first operand needs the second
        ("mul", 0b10, (SAVE, DROP), False),
        ("neg", 0b1, (DROP,), False),
        ("exp", 0b1, (DROP,), True),
        ("sum", 0b1, (META,), False),
    ],
)
def test_a_plan_says_what_a_node_keeps(name, mask, actions, saves_result):
    plan = plan_of(records[name], mask)
    assert plan.actions == actions and plan.save_out is saves_result and plan.grad_mask == mask
    assert plan_of(records[name], mask) is plan
    assert plan.saves == (SAVE in actions or saves_result)


def test_a_need_that_nothing_has_is_refused(made):
    record = made(
        "unit_of_test(self)",
        "negative",
        kind="elementwise",
        self=d("other", lambda xp, g, out, self: g),
    )
    with pytest.raises(AssertionError, match="unknown name in needs"):
        plan_of(record, 1)


def test_kernels_are_found_by_their_names():
    assert records["mul"].kernel is numpy.multiply and callable(records["sigmoid"].kernel)


def test_a_new_record_runs_and_differentiates_to_second_order(made):
    record = made(
        "unit_of_test(self)",
        lambda x: x**3,
        kind="elementwise",
        self=d("self", lambda xp, g, out, self: g * 3 * self**2),
    )
    x = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
    assert record(x).grad_fn.name() == "UnitOfTestBackward0"
    assert torch.autograd.gradcheck(record, (x,)) and torch.autograd.gradgradcheck(record, (x,))


@pytest.mark.parametrize(
    ("text", "needs", "value"),
    [
        ("mul(grad, out)", ("out",), 12.0),
        ("mul(self, grad)", ("self",), 6.0),
        ("neg(grad)", (), -3.0),
        ("add_number(grad, number)", (), 10.0),
        ("scatter_value(grad, 0, index, 0.0)", (), 0.0),
        ("sum_dim(grad, None, keepdim)", (), 3.0),
        ("sum_to(grad, self.shape)", ("~self",), 3.0),
    ],
)  # fmt: skip
def test_a_rule_that_is_one_call_is_a_text(made, text, needs, value):
    record = made(
        "unit_of_test(self; number, index, keepdim)", "negative", kind="elementwise", self=text
    )
    derivative = record.derivatives["self"]
    assert derivative.needs == needs and derivative.traced is derivative.rule
    g, out, x = (numpy.array([n]) for n in (3.0, 4.0, 2.0))
    assert derivative.rule(ARRAY, g, out, x, 7.0, numpy.array([0]), False) == value


def test_a_text_takes_other_needs(made):
    record = made(
        "unit_of_test(self; index)", "take", kind="gather", self=d("~self index", "neg(grad)")
    )
    assert record.derivatives["self"].needs == ("~self", "index")


def test_every_record_is_an_op_of_known_kind():
    assert all(
        isinstance(record, Op) and record.kind in KINDS and record.zero in ZEROS
        for record in records.values()
    )
