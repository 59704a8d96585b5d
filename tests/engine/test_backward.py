"""A backward pass, as a unit: order, accumulation, chosen inputs, saved values, hooks."""

import pytest

import gradtrace as torch
from gradtrace.engine.data.node import accumulator
from gradtrace.engine.reverse.backward import Pass, count_dependencies, needed_nodes, run_backward
from gradtrace.engine.reverse.evaluate import interpret


@pytest.fixture
def x():
    return torch.tensor(2.0, dtype=torch.float64, requires_grad=True)


def test_interpret_gives_a_node_and_a_gradient_for_each_edge(x):
    w = torch.tensor(5.0, dtype=torch.float64, requires_grad=True)
    node = (x * w)._fn
    assert list(interpret(node, 1.0)) == [(accumulator(x), 5.0), (accumulator(w), 2.0)]


def test_a_pass_sums_what_arrives_at_a_node_before_it_runs(x):
    a = x * 3
    ((a * a) + a).backward()
    assert x.grad.item() == 3 * (2 * 6 + 1)


def test_count_dependencies_counts_edges_from_reachable_nodes(x):
    a = x * 3
    b = a * a + a
    counts = count_dependencies([b._fn])
    assert counts[a._fn] == 3 and counts[accumulator(x)] == 1 and b._fn in counts


def test_needed_nodes_are_those_on_a_way_to_what_is_wanted(x):
    w = torch.tensor(5.0, dtype=torch.float64, requires_grad=True)
    left, right = x.sin(), w.cos()
    root = (left * right)._fn
    needed = needed_nodes(count_dependencies([root]), [(accumulator(x), 0)], False)
    assert left._fn in needed and right._fn not in needed


def test_saved_values_are_freed_unless_kept(x):
    y = x * x
    y.backward(retain_graph=True)
    assert not y.grad_fn.freed
    y.backward()
    assert y.grad_fn.freed and x.grad.item() == 8
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


def test_a_node_without_saved_values_can_run_again(x):
    y = -x
    y.backward()
    y.backward()
    assert x.grad.item() == -2


def test_grad_leaves_the_leaves_alone(x):
    (g,) = torch.autograd.grad(x**3, x, create_graph=True)
    assert g.item() == 12 and g.grad_fn is not None and x.grad is None
    assert torch.autograd.grad(g, x)[0].item() == 12


def test_a_nodes_hook_sees_what_its_inputs_get():
    """Broadcasting and promotion are undone before the hook, and conditions have no place, as in PyTorch."""
    row = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    table, number = (
        torch.ones(2, 3, requires_grad=True),
        torch.tensor(2.0, dtype=torch.float64, requires_grad=True),
    )
    seen = []
    for result in (row * table, table - row, row * number, torch.where(table > 0, row, table)):
        result.grad_fn.register_hook(
            lambda inner, outer: seen.append([(list(g.shape), g.dtype) for g in inner])
        )
        result.sum().backward()
    single, double = torch.float32, torch.float64
    assert seen == [
        [([3], single), ([2, 3], single)],
        [([2, 3], single), ([3], single)],
        [([3], single), ([], double)],
        [([3], single), ([2, 3], single)],
    ]
    result = row + table
    result.grad_fn.register_hook(lambda inner, outer: (torch.ones(2, 3), None))
    with pytest.raises(RuntimeError, match="has changed the size of value"):
        result.sum().backward()


def test_hooks_run_in_pytorchs_order(x):
    seen = []
    y = x * 2
    z = y * 3
    y.register_hook(lambda g: seen.append(("tensor", g.item())))
    y.grad_fn.register_prehook(lambda gs: seen.append(("pre", gs[0].item())))
    y.grad_fn.register_hook(lambda gi, go: seen.append(("post", gi[0].item(), go[0].item())))
    z.backward()
    assert seen == [("tensor", 3.0), ("pre", 3.0), ("post", 6.0, 3.0)]


def test_a_long_chain_needs_no_recursion(x):
    y = x
    for _ in range(20_000):
        y = y * 1.0
    y.backward()
    assert x.grad.item() == 1


@pytest.mark.parametrize("keep_graph", [True, False])
def test_a_pass_knows_the_node_at_work(x, keep_graph):
    class Failing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            return t * 1

        @staticmethod
        def backward(ctx, g):
            raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        Failing.apply(x).backward(retain_graph=keep_graph)
    assert x.grad is None and Pass(keep_graph).keep_graph is keep_graph


def test_roots_need_a_gradient_and_run_backward_says_so():
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.ones(1).backward()
    assert callable(run_backward)
