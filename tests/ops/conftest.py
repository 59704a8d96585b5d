"""What the operator tests share: finite differences, and sessions recorded from real PyTorch."""

from __future__ import annotations

import math
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradtrace


def outputs_of(result: Any) -> list[Any]:
    """The floating-point tensors in a result that can be differentiated."""
    if isinstance(result, (tuple, list)):
        return [t for part in result for t in outputs_of(part)]
    return [result] if result.requires_grad else []


def weighted(outputs: list[Any], weights: list[Any]) -> Any:
    total = None
    for out, weight in zip(outputs, weights, strict=True):
        part = (out * weight).sum()
        total = part if total is None else total + part
    return total


def first_order(
    function: Any, leaves: list[Any], weights: list[Any], create_graph: bool = False
) -> tuple[Any, ...]:
    loss = weighted(outputs_of(function(*leaves)), weights)
    found = gradtrace.autograd.grad(
        loss, leaves, create_graph=create_graph, allow_unused=True, materialize_grads=True
    )
    return tuple(found)


def leaf(array: Any) -> Any:
    return gradtrace.tensor(np.array(array, np.float64), requires_grad=True)


def differences(
    value: Callable[[list[Any]], float], arrays: list[Any], step: float
) -> Iterator[Any]:
    """The gradient of a scalar function of arrays by central differences."""
    for array in arrays:
        found = np.zeros(array.shape)
        for index in np.ndindex(array.shape):
            kept = array[index]
            array[index] = kept + step
            above = value(arrays)
            array[index] = kept - step
            found[index] = (above - value(arrays)) / (2 * step)
            array[index] = kept
        yield found


def check_derivatives(
    function: Any, *arrays: Any, second: bool = True, tolerance: float = 1e-6
) -> None:
    """Compares first and second derivatives of `function` with differences of its value and of its gradient."""
    values = [np.array(a, np.float64) for a in arrays]
    leaves = [leaf(a) for a in values]
    rng = np.random.default_rng(7)
    outputs = outputs_of(function(*leaves))
    weights = [leaf(rng.normal(size=tuple(out.shape))) for out in outputs]
    found = first_order(function, leaves, weights)

    def loss(at: list[Any]) -> float:
        return float(weighted(outputs_of(function(*map(leaf, at))), weights).item())

    for got, expected in zip(found, differences(loss, values, 1e-6), strict=True):
        np.testing.assert_allclose(got.array, expected, rtol=tolerance, atol=tolerance)
    if not second:
        return
    directions = [rng.normal(size=v.shape) for v in values]

    def slope(at: list[Any], create_graph: bool = False) -> Any:
        points = [leaf(a) for a in at]
        some, w = points[: len(values)], points[len(values) :]
        gradients = first_order(function, some, w, create_graph)
        total = weighted(list(gradients), [gradtrace.tensor(v) for v in directions])
        return (total, points) if create_graph else float(total.item())

    everything = [*values, *(np.array(w.detach().array, np.float64) for w in weights)]
    total, points = slope(everything, create_graph=True)
    total = total + sum((point * 0).sum() for point in points)  # a constant gradient has no graph
    again = gradtrace.autograd.grad(total, points)
    for got, expected in zip(again, differences(slope, everything, 1e-6), strict=True):
        np.testing.assert_allclose(got.array, expected, rtol=10 * tolerance, atol=10 * tolerance)


@pytest.fixture
def derivatives() -> Callable[..., None]:
    return check_derivatives


# ---- recorded sessions

CHANGED = "one of the variables needed for gradient computation has been modified by an inplace operation: "


def names(tensor: Any) -> str:
    """The grad_fn names from a tensor back along the first inputs."""
    found, node = [], tensor.grad_fn
    while node is not None:
        found.append(node.name().rpartition("::")[2])
        following = [edge[0] for edge in node.next_functions if edge[0] is not None]
        node = following[0] if following else None
    return " ".join(found)


def graph_of(node: Any, seen: dict[Any, int]) -> str:
    """A backward graph in one line; # and a number for a node that has been shown."""
    if node is None:
        return "-"
    if node in seen:
        return f"#{seen[node]}"
    name = node.name().rpartition("::")[2]
    if name == "AccumulateGrad":
        return "leaf"
    seen[node] = len(seen)
    return f"{name}({', '.join(graph_of(edge[0], seen) for edge in node.next_functions)})"


def session(torch: Any) -> dict[str, Any]:
    """The names that recorded expressions use, over gradtrace or over PyTorch."""

    def gradient(function: Any, *values: Any) -> Any:
        leaves = [torch.tensor(v, requires_grad=True) for v in values]
        outputs = outputs_of(function(*leaves))
        found = torch.autograd.grad(outputs, leaves, [torch.ones_like(out) for out in outputs])
        return found[0] if len(found) == 1 else found

    def gradient_graph(function: Any, *values: Any) -> str:
        """The graph of the gradient of the sum of the results, for each leaf, and the second gradients."""
        leaves = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in values]
        total = sum(out.sum() for out in outputs_of(function(*leaves)))
        found = torch.autograd.grad(total, leaves, create_graph=True)
        lines = [graph_of(g.grad_fn, {}) for g in found]
        linked = [g.sum() for g in found if g.requires_grad]
        if linked:
            again = torch.autograd.grad(linked, leaves, allow_unused=True)
            lines += [
                " ".join(
                    "none" if g is None else f"{round(g.sum().item(), 9) + 0.0:.4g}" for g in again
                )
            ]
        return "\n".join(lines)

    def changed(function: Any, shape: tuple[int, ...], saved: Any, change: Any = None) -> str:
        """Backward of function(x, saved), with `saved` changed in place before: the gradient of x, or the error.

        `saved` is a tensor, or "computed" (from x), "result" or "indices" (of the function).
        """
        torch.manual_seed(0)
        x = (
            torch.arange(1, math.prod(shape) + 1, dtype=torch.float64)
            .sin()
            .mul(0.5)
            .add(0.5)
            .reshape(shape)
        )
        x.requires_grad_()
        saved = x * 1.5 if saved == "computed" else saved
        out = function(x, saved)
        out, saved = out if saved == "indices" else (out, out if saved == "result" else saved)
        total = (out * 1.0).sum()
        with torch.no_grad():
            change(
                saved
            ) if change else saved.logical_not_() if saved.dtype is torch.bool else saved.zero_()
        try:
            total.backward()
        except RuntimeError as error:
            return str(error).removeprefix(CHANGED).partition(" Hint")[0]
        return " ".join(f"{round(v, 9) + 0.0:.4g}" for v in x.grad.reshape(-1).tolist())

    def put(tensor: Any, key: Any, value: Any) -> Any:
        tensor[key] = value
        return tensor

    def refused(function: Any) -> str:
        try:
            function()
        except (RuntimeError, TypeError, IndexError, ValueError) as error:
            return f"{type(error).__name__}: {error}".strip()
        return "nothing was raised"

    return {
        "torch": torch,
        "gradient": gradient,
        "changed": changed,
        "put": put,
        "refused": refused,
        "names": names,
        "gradient_graph": gradient_graph,
        "F": torch.nn.functional,
        "inf": math.inf,
        "nan": math.nan,
        "leaf": lambda v: torch.tensor(v, requires_grad=True),
    }


def shown(torch: Any, expression: str) -> str:
    """What the expression prints."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = eval(expression, session(torch))
    return "\n".join(line.rstrip() for line in str(result).splitlines())


def recorded(name: str) -> list[tuple[str, str]]:
    """The (expression, printed result) pairs of a file in `recorded/`."""
    text = (Path(__file__).parent / "recorded" / f"{name}.txt").read_text(encoding="utf-8")
    blocks = [block.partition("\n") for block in text.split("\n>>> ")[1:]]
    return [(first, rest.rstrip("\n")) for first, _, rest in blocks]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with arguments `expression` and `printed` runs once for each recorded expression of its module."""
    if {"expression", "printed"} <= set(metafunc.fixturenames):
        name = metafunc.module.__name__.rpartition("test_")[2]
        pairs = recorded(name)
        metafunc.parametrize(
            ("expression", "printed"), pairs, ids=[expression for expression, _ in pairs]
        )


@pytest.fixture
def printed_by_gradtrace() -> Callable[[str], str]:
    return lambda expression: shown(gradtrace, expression)


@pytest.fixture(autouse=True)
def numbers_of_its_own(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Restart a module's RNG for each test, so that a test does not depend on those that ran before it."""
    if hasattr(request.module, "RNG"):
        monkeypatch.setattr(
            request.module, "RNG", np.random.default_rng(zlib.crc32(request.node.name.encode()))
        )
