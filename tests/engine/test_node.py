"""Nodes, as units: layouts, names, edges, extras, hooks, release."""

import gc
import weakref

import pytest

import gradtrace as torch
from gradtrace.engine.data.node import (
    FREED,
    ONE,
    TUPLES,
    TWO,
    AccumulateGrad,
    Edge,
    Hooks,
    HookTable,
    Meta,
    OpNode,
    RemovableHandle,
    accumulator,
    add_hook,
    named,
)
from gradtrace.engine.data.state import state
from gradtrace.engine.operators.op import records
from gradtrace.engine.reverse.plan import node_type


@pytest.fixture
def x():
    return torch.tensor([2.0, 3.0], requires_grad=True)


@pytest.mark.parametrize(
    ("make", "layout", "edges"),
    [
        (lambda x: x.sin(), ONE, 1),
        (lambda x: x * x, TWO, 2),
        (lambda x: x + 1, TWO, 2),
        (lambda x: torch.cat([x, x, x]), TUPLES, 3),
    ],
    ids=["one", "two", "a number", "a sequence"],
)
def test_edges_are_tuples_in_every_layout(x, make, layout, edges):
    node = make(x).grad_fn
    assert node.layout == layout and len(node.next) == edges
    assert node.next[0] is accumulator(x) and all(
        isinstance(edge, Edge) for edge in node.next_functions
    )
    assert [edge.input_nr for edge in node.next_functions if edge.function is not None] == [0] * (
        edges - node.next.count(None)
    )


def test_the_class_of_a_node_is_restored_before_it_is_exposed(x):
    node = (x * 2)._fn
    assert type(node) is OpNode and node.name() == "MulBackward0"
    assert type(named(node)).__name__ == "MulBackward0" and named(None) is None


def test_a_node_keeps_only_what_its_rule_needs(x):
    product, negative, total = x * x, -x, x.sum()
    assert product._fn.plan.saves and not negative._fn.plan.saves
    (kept,) = total._fn.kept[:1]
    assert (
        isinstance(kept, Meta)
        and kept.shape == (2,)
        and kept.ndim == 1
        and kept.numel == 2
        and kept.strides == (1,)
    )


def test_release_frees_saved_values_once_and_for_all(x):
    node = (x * x).grad_fn
    assert not node.freed
    node.release()
    assert node.freed and FREED == ("freed",)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        node(torch.ones(2))


def test_a_leaf_has_one_accumulator_and_refers_to_it_weakly(x):
    first = accumulator(x)
    assert (
        accumulator(x) is first
        and first.name() == "torch::autograd::AccumulateGrad"
        and first.is_accumulator
    )
    alive = weakref.ref(first)
    del first
    gc.disable()
    try:
        assert alive() is None  # freed by reference counting alone
    finally:
        gc.enable()
    assert isinstance(accumulator(x), AccumulateGrad)


def test_extras_are_made_on_demand(x):
    node = (x * 2).grad_fn
    assert node.extras is None and node.hooks is None
    assert node.ensure_hooks() is node.hooks and isinstance(node.hooks, Hooks)
    assert node.ensure_extras() is node.extras


def test_a_table_of_hooks_keeps_the_count_of_observers():
    before = state.live_observers
    table = HookTable()
    handles = [add_hook(table, lambda g: g) for _ in range(3)]
    assert state.live_observers == before + 3 and list(table) == sorted(
        handle.id for handle in handles
    )
    handles[0].remove()
    handles[0].remove()
    assert state.live_observers == before + 2
    with handles[1] as same:
        assert isinstance(same, RemovableHandle)
    assert state.live_observers == before + 1
    del table
    assert state.live_observers == before


def test_sequence_numbers_fall_along_edges(x):
    y = (x * 2).sin() + x
    node = y.grad_fn
    assert all(
        edge._sequence_nr() < node._sequence_nr() for edge in node.next if not edge.is_accumulator
    )
    assert accumulator(x)._sequence_nr() > node._sequence_nr()


def test_the_origin_of_a_node_is_the_engines_at_its_call(x):
    state.origin = 7
    try:
        y = x * 2
    finally:
        state.origin = 0
    assert y._fn.origin == 7 and (x * 2)._fn.origin == 0


def test_metadata_is_one_dict(x):
    node = (x * 2).grad_fn
    node.metadata["seen"] = True
    assert node.metadata == {"seen": True} and (x * 3).grad_fn.metadata == {}


def test_in_place_forms_name_their_nodes():
    assert node_type(records["relu"], "ReluBackward1").__name__ == "ReluBackward1"
    assert node_type(records["relu"]) is node_type(records["relu"])
