"""Run a program in real PyTorch and print its variables as JSON: a subprocess that does not import
gradtrace.

    python torch_child.py < request.json > answer.json

The request has text, dtype, imports_torch, random_state (in hexadecimal), inputs {name: {value,
dtype, requires_grad}} and backward: how gradtrace's command called it, or null if it did not
{outputs, vectors, count, retain_graph, create_graph, zero_grad, inputs, retain_grad}. Without
`outputs` the outputs are those of the last expression that has a value. The answer has tensors
{name: {value, grad, is_leaf, requires_grad, grad_fn}} and roots, a list of the same: of the last
call of backward, else the last value; or error.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from math import isfinite
from typing import Any

RESULT = "_result"
SPECIAL_TEXTS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
INPUT_KINDS = ("leaf", "data")  # w: leaf = 1.0 gives an input its default


def safe(data: Any) -> Any:
    """Return nested lists with NaN and infinities as strings, since JSON has neither."""
    if isinstance(data, list):
        return [safe(item) for item in data]
    return SPECIAL_TEXTS[str(data)] if isinstance(data, float) and not isfinite(data) else data


def plain_tensor(tensor: Any) -> dict[str, Any]:
    """Return a tensor as plain data."""
    fn = tensor.grad_fn
    kept = tensor.grad if tensor.is_leaf or tensor.retains_grad else None
    return {
        "value": safe(tensor.detach().tolist()),
        "grad": None if kept is None else safe(kept.detach().tolist()),
        "is_leaf": tensor.is_leaf,
        "requires_grad": tensor.requires_grad,
        "grad_fn": None if fn is None else fn.name().rpartition("::")[2],
    }


def run(request: dict[str, Any]) -> dict[str, Any]:
    import importlib

    torch: Any = importlib.import_module("torch")

    torch.set_default_dtype(getattr(torch, request["dtype"]))
    torch.set_rng_state(
        torch.tensor(list(bytes.fromhex(request["random_state"])), dtype=torch.uint8)
    )
    roots = noted_roots(torch)
    variables: dict[str, Any] = {"__name__": "__main__"}
    if not request["imports_torch"]:
        variables.update(bare_names(torch))
    for name, entry in request["inputs"].items():
        tensor = torch.tensor(entry["value"], dtype=getattr(torch, entry["dtype"]))
        variables[name] = tensor.requires_grad_(entry["requires_grad"])
    before = set(variables) - set(request["inputs"])
    results: list[Any] = []

    def keep_result(value: Any) -> None:
        """Note the value of an expression statement, if it can be the program's result."""
        if isinstance(value, (torch.Tensor, int, float, list, tuple, str)):
            results.append(value)

    variables[RESULT] = keep_result
    tree = changed(ast.parse(request["text"]), set(request["inputs"]))
    # the user's own program, which the user asked to run here
    exec(compile(tree, "<program>", "exec"), variables)
    del variables[RESULT]
    tensors = {name: t for name, t in named_tensors(variables, before, torch) if not t.is_meta}
    last = results[-1] if results else []
    outputs = [
        t
        for t in (last if isinstance(last, (list, tuple)) else [last])
        if isinstance(t, torch.Tensor)
    ]
    if request["backward"] is not None:
        differentiate(request["backward"], tensors, outputs, torch)
    return {
        "version": torch.__version__,
        "tensors": {name: plain_tensor(t) for name, t in tensors.items()},
        "roots": [plain_tensor(t) for t in (roots or outputs) if not t.is_meta],
    }


def noted_roots(torch: Any) -> list[Any]:
    """Return a list that holds, from now on, what the last call of backward was called on."""
    roots: list[Any] = []
    backward = torch.autograd.backward

    def noted(tensors: Any, *args: Any, **kwargs: Any) -> None:
        roots[:] = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        backward(tensors, *args, **kwargs)

    torch.autograd.backward = noted
    return roots


def bare_names(torch: Any) -> dict[str, Any]:
    """Return the names of expressions, in which functions of tensors take numbers too."""
    import math

    names: dict[str, Any] = {
        "math": math,
        "F": torch.nn.functional,
        "nn": torch.nn,
        "torch": torch,
        "tau": math.tau,
    }
    for module in (torch.nn.functional, torch):
        public = {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}
        names |= {
            name: on_numbers(value, torch) if is_function(value) else value
            for name, value in public.items()
        }
    return names


def is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type)


def on_numbers(function: Any, torch: Any) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError:
            if not args or not all(isinstance(arg, (int, float)) for arg in args):
                raise
            return function(*(torch.tensor(float(arg)) for arg in args), **kwargs)

    return call


def changed(tree: ast.Module, inputs: set[str]) -> ast.Module:
    """Return the program with the value of each of its expression statements kept, and without the
    defaults of inputs, which have their values already.
    """
    body: list[ast.stmt] = []
    for statement in tree.body:
        if isinstance(statement, ast.AnnAssign) and is_default(statement, inputs):
            continue
        if isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Constant):
            call = ast.Call(ast.Name(RESULT, ast.Load()), [statement.value], [])
            body.append(ast.copy_location(ast.Expr(call), statement))
        else:
            body.append(statement)
    return ast.fix_missing_locations(ast.Module(body, []))


def is_default(statement: ast.AnnAssign, inputs: set[str]) -> bool:
    """Whether a statement gives an input its default."""
    target = statement.target
    kind = statement.annotation
    is_input = isinstance(target, ast.Name) and target.id in inputs
    return is_input and isinstance(kind, ast.Name) and kind.id in INPUT_KINDS


def named_tensors(
    variables: dict[str, Any], before: set[str], torch: Any
) -> Iterator[tuple[str, Any]]:
    """Yield the tensors of the variables, of the modules in them and of their lists, tuples and
    dicts, with gradtrace's names.
    """
    for name, value in variables.items():
        if name in before:
            continue
        if isinstance(value, torch.Tensor):
            yield name, value
            continue
        yield from module_tensors(name, value, torch)
        items: Any = ()
        if isinstance(value, dict):
            items = value.items()
        elif isinstance(value, (list, tuple)):
            items = enumerate(value)
        for key, item in items:
            if isinstance(item, torch.Tensor):
                yield f"{name}[{key!r}]", item
            yield from module_tensors(f"{name}[{key!r}]", item, torch)


def module_tensors(name: str, value: Any, torch: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parameters of a module that are there."""
    if isinstance(value, torch.nn.Module):
        for parameter_name, parameter in value.named_parameters(remove_duplicate=False):
            if not torch.nn.parameter.is_lazy(parameter):
                yield f"{name}.{parameter_name}", parameter


def differentiate(
    how: dict[str, Any], tensors: dict[str, Any], outputs: list[Any], torch: Any
) -> None:
    """Call backward as gradtrace's command did: the program does not call it itself."""
    roots = [tensors[name] for name in how["outputs"]] or outputs
    if "all" in how["retain_grad"]:
        kept = [t for t in tensors.values() if t.requires_grad and not t.is_leaf]
    else:
        kept = [tensors[name] for name in how["retain_grad"] if name in tensors]
    for tensor in kept:
        tensor.retain_grad()
    vectors = [
        torch.tensor(vector["value"], dtype=getattr(torch, vector["dtype"]))
        for vector in how["vectors"]
    ]
    targets = [tensors[name] for name in how["inputs"]] or None
    for count in range(how["count"]):
        if count and how["zero_grad"]:
            for tensor in tensors.values():
                tensor.grad = None
        torch.autograd.backward(
            roots,
            [*vectors, *[None] * (len(roots) - len(vectors))] if vectors else None,
            retain_graph=True if how["retain_graph"] else None,
            create_graph=how["create_graph"],
            inputs=targets,
        )


def main() -> None:
    # what the program prints is not part of the answer
    answers, sys.stdout = sys.stdout, sys.stderr
    request = json.load(sys.stdin)
    import warnings

    warnings.simplefilter("ignore")
    try:
        answer = run(request)
    except Exception as error:
        no_torch = isinstance(error, ModuleNotFoundError) and error.name == "torch"
        answer = {
            "error": str(error) if no_torch else f"{type(error).__name__}: {error}",
            "missing": no_torch,
        }
    json.dump(answer, answers)


if __name__ == "__main__":
    main()
