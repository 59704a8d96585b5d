"""Run a program in real PyTorch and print its variables as JSON: a subprocess that does not import gradtrace.

    python torch_child.py < request.json > answer.json

The request has text, dtype, imports_torch, backward (whether to call it on the result) and inputs {name: {value, dtype,
requires_grad}}; the answer tensors {name: {value, grad, is_leaf, requires_grad, grad_fn}}, or error.
"""

from __future__ import annotations

import ast
import json
import sys
from typing import Any


def safe(data: Any) -> Any:
    """Return nested lists with NaN and infinities as strings, since JSON has neither."""
    if isinstance(data, list):
        return [safe(item) for item in data]
    if isinstance(data, float) and (data != data or data in (float("inf"), float("-inf"))):
        return "NaN" if data != data else "Infinity" if data > 0 else "-Infinity"
    return data


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
    variables: dict[str, Any] = {"__name__": "__main__"}
    if not request["imports_torch"]:
        variables.update({name: getattr(torch, name) for name in dir(torch) if not name.startswith("_")})
        variables.update({name: getattr(torch.nn.functional, name) for name in ("relu", "softplus", "gelu", "silu")})
    for name, given in request["inputs"].items():
        tensor = torch.tensor(given["value"], dtype=getattr(torch, given["dtype"]))
        variables[name] = tensor.requires_grad_(given["requires_grad"])
    before = set(variables)
    tree = ast.parse(request["text"])
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        tree.body[-1] = ast.copy_location(
            ast.Assign([ast.Name("_root", ast.Store())], tree.body[-1].value), tree.body[-1]
        )
        ast.fix_missing_locations(tree)
    exec(compile(tree, "<program>", "exec"), variables)  # the user's own program, which the user asked to run here
    made = [name for name in variables if name not in before or name in request["inputs"]]
    tensors = {name: variables[name] for name in made if isinstance(variables[name], torch.Tensor)}
    if request["backward"]:
        root = tensors.get("_root")
        root = root if root is not None else list(tensors.values())[-1]
        if root.requires_grad and not any(t.is_leaf and t.grad is not None for t in tensors.values()):
            root.backward()
    return {"version": torch.__version__, "tensors": {name: plain_tensor(t) for name, t in tensors.items()}}


def main() -> None:
    answers, sys.stdout = sys.stdout, sys.stderr  # what the program prints is not part of the answer
    request = json.load(sys.stdin)
    import warnings

    warnings.simplefilter("ignore")
    try:
        answer = run(request)
    except ImportError as error:
        answer = {"error": str(error), "missing": True}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}", "missing": False}
    json.dump(answer, answers)


if __name__ == "__main__":
    main()
