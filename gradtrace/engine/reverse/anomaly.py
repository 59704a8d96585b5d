"""Anomaly mode: nodes keep the stack of their forward call, and an error in backward shows it.

https://pytorch.org/docs/stable/autograd.html#anomaly-detection. As in PyTorch a node's `metadata`
has the formatted stack under "traceback_". If a backward pass made the node, "parent_" is the node
that was running then.
"""

from __future__ import annotations

import sys

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.engine.data.higher import higher
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.node import Node
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor

if TYPE_CHECKING:
    from gradtrace.engine.data.gradient_types import InputGradients

PACKAGE = __file__.rpartition("engine")[0]
NO_FORWARD = (
    "No forward pass information available. Enable detect anomaly during forward pass for "
    "more information."
)


def remember(node: Node) -> None:
    """Store in a new node's metadata the stack of its call, and the node that a backward pass is
    running, if any.
    """
    if state.origin:  # the line is named by what evaluates an expression
        return
    import traceback

    frames = [
        frame for frame in traceback.extract_stack() if not frame.filename.startswith(PACKAGE)
    ]
    node.metadata["traceback_"] = traceback.format_list(frames)
    if state.running is not None and state.running.node is not None:
        node.metadata["parent_"] = state.running.node


def check_nan(node: Node, results: InputGradients) -> None:
    """Raise RuntimeError for the first result of a node that contains nan, if anomaly mode checks
    for nan.
    """
    if not state.anomaly_check_nan:
        return
    for i, result in enumerate(results):
        if result is not None and bool(
            np.isnan(result._data if isinstance(result, Tensor) else result).any()
        ):
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")


def blame(node: Node | None, error: Any) -> None:
    """Set `error.__forward__` to the failed node's origin, or 0; in anomaly mode warn with its
    forward stack.
    """
    if node is None:
        return
    if not hasattr(error, "__forward__"):
        error.__forward__ = node.origin  # 0 where the program is not recorded
    if not state.anomaly or node.origin:
        return
    stack = node.metadata.get("traceback_")
    text = f"Error detected in {node.name()}. "
    tell(
        text
        + (
            NO_FORWARD
            if stack is None
            else "Traceback of forward call that caused the error:\n" + "".join(stack)
        )
    )
    parent = node.metadata.get("parent_")
    while parent is not None:
        stack = parent.metadata.get("traceback_")
        text = f"\n\nPrevious calculation was induced by {parent.name()}. "
        start = "Traceback of forward call that induced the previous calculation:\n"
        tell(
            f"Error detected in {parent.name()}. {NO_FORWARD}"
            if stack is None
            else text + start + "".join(stack)
        )
        parent = parent.metadata.get("parent_")


def tell(text: str) -> None:
    """Warn with the text. Print it to stderr if warnings raise, since another error is being raised
    already.
    """
    import warnings

    try:
        warnings.warn(text, UserWarning, stacklevel=4)
    except UserWarning as warning:
        print(f"Warning: {warning}", file=sys.stderr)


higher["remember"] = remember
