"""Explain a tensor's gradient from the tensor itself and the graph that it still belongs to,
without a recorded run.

    afterwards(w, "w", loss) -> Cause

A recorded run (`why` on the command line, `%%gradtrace why` in a notebook) knows more: the line
where a path was cut, the place of the first NaN. This module does not guess what only a recorded
run can tell.
"""

from __future__ import annotations

from gradtrace.analysis.cause import Cause, Evidence
from gradtrace.engine import Tensor
from gradtrace.engine.data.node import AccumulateGrad, Node
from gradtrace.trace import functions
from gradtrace.trace.history import node_of
from gradtrace.trace.values import Value, frozen

RECORD = "run the cell under %%gradtrace why, or the script under gradtrace why, to see where"


def afterwards(tensor: Tensor, name: str, loss: Tensor | None = None) -> Cause:
    """Return the answer about `tensor.grad`; with the loss, also whether the loss depends on the
    tensor.
    """
    grad = None if tensor._x is None else tensor._x.grad
    if grad is not None:
        return of_gradient(name, frozen(grad))
    origin = Evidence(f"{name} is {kind(tensor)}")
    if not tensor.requires_grad:
        return none(
            name,
            "no grad",
            f"{name} does not require grad",
            (origin,),
            f"call {name}.requires_grad_()",
        )
    if not tensor.is_leaf and not tensor.retains_grad:
        because = f"{name} is a non-leaf, and backward keeps gradients only for leaf tensors"
        return none(
            name, "non-leaf", because, (origin,), f"call {name}.retain_grad() before backward"
        )
    if loss is None:
        because = f"no backward has reached {name} since its gradient was last cleared"
        return none(
            name,
            "not reached",
            because,
            (origin,),
            "call backward() on what was computed from it",
            RECORD,
        )
    if not is_behind(tensor, loss):
        because = f"the loss does not depend on {name}, or only through a value without history"
        return none(
            name,
            "not connected",
            because,
            (origin,),
            "look for detach(), no_grad() or numbers between",
            RECORD,
        )
    freed = any(
        node.freed and node.plan.saves
        for node in nodes_behind(loss)
        if not isinstance(node, AccumulateGrad)
    )
    if freed:
        because = "backward ran on the loss, and the gradient was cleared afterwards"
        return none(name, "cleared", because, (origin,), "read it before zero_grad()")
    because = "the loss depends on it, but backward was not called"
    return none(name, "never called", because, (origin,), "call backward() on the loss")


def of_gradient(name: str, grad: Value) -> Cause:
    """Return the explanation of a gradient that is not None."""
    if not grad.all_finite:
        bad = grad.summary.nan + grad.summary.inf
        sentence = f"{name}.grad is not finite in {bad} of {grad.numel} elements."
        return Cause("not finite", "", (), (RECORD,), sentence, name, "nan", value=grad)
    if grad.all_zero:
        because = f"backward reached {name}, and nothing but zeros arrived"
        return Cause(
            "zero", because, (), (RECORD,), f"{name}.grad is zero", name, "zero", value=grad
        )
    size = (
        f"has the shape {grad.shape} and the norm {grad.norm:.6g}"
        if grad.shape
        else f"is {grad.data:.6g}"
    )
    return Cause(
        "gradient", "", symptom=f"{name}.grad {size}.", name=name, status="gradient", value=grad
    )


def none(name: str, code: str, because: str, evidence: tuple[Evidence, ...], *advice: str) -> Cause:
    return Cause(code, because, evidence, advice, f"{name}.grad is None", name, "none")


def kind(tensor: Tensor) -> str:
    if not tensor.is_leaf:
        node = node_of(tensor)
        return (
            "a non-leaf" if node is None else f"a non-leaf, made by {functions.display_name(node)}"
        )
    return (
        "a leaf that requires grad" if tensor.requires_grad else "a leaf that does not require grad"
    )


def is_behind(tensor: Tensor, loss: Tensor) -> bool:
    """Whether a gradient could flow from the loss to the tensor."""
    own = None if tensor.is_leaf else node_of(tensor)
    return any(
        node.variable is tensor if isinstance(node, AccumulateGrad) else node is own
        for node in nodes_behind(loss)
    )


def nodes_behind(loss: Tensor) -> list[Node]:
    return functions.walk([node_of(loss)]).nodes
