"""Hints for unknown names, and for errors of the engine, whose messages are PyTorch's and do not mention options."""

from __future__ import annotations

from gradtrace.annotations import Any, Iterable

# how a message begins: what to do, where an option of the tool would help
FLAGS = {
    "Trying to backward through the graph a second time": "--retain-graph keeps the saved values for another backward",
    "grad can be implicitly created only for scalar outputs": (
        "give the vector with --grad-tensors VALUE (1 for each element sums them), or reduce the output, as by .sum()"
    ),
    "Mismatch in shape: grad_output": "--grad-tensors takes a value of the output's shape",
    "element 0 of tensors does not require grad": "let a variable require grad (leave out --no-grad), or --no-backward",
    "One of the differentiated Tensors": "check --inputs and --no-grad",
    "can't retain_grad on Tensor": "check --inputs and --retain-grad: only tensors that require grad have gradients",
}
ELEMENTWISE = {
    "max": "for each element: relu(x), clamp(x, min=0) or maximum(x, y)",
    "min": "for each element: clamp(x, max=0) or minimum(x, y)",
}
SHAPES = ("The size of tensor", "mat1 and mat2", "shape '", "size mismatch", "The expanded size", "inconsistent tensor")


def near(name: str, known: Any, otherwise: str = "") -> str:
    """Return the hint for an unknown name: the most similar known one, else `otherwise` or all of them."""
    from gradtrace.views.pick import close

    return close(name, known) or otherwise or f"there are {', '.join(known)}"


def of_backward(message: str, text: str = "") -> str:
    """Return the hint for an error of the command's call of backward on the expression `text`; "" without one."""
    if message.startswith("element 1 of tensors does not require grad"):
        return of_extreme(text.removeprefix("torch.").partition("(")[0])
    return next((hint for start, hint in FLAGS.items() if message.startswith(start)), "")


def of_extreme(name: str) -> str:
    """Return a hint that max(x, 0) and min(x, 0) return a pair; "" for any other name."""
    hint = ELEMENTWISE.get(name)
    return f"{name}(x, 0) is along dim 0, a pair of values and indices; {hint}" if hint else ""


def of_program(message: str, inputs: Iterable[tuple[str, Any]]) -> str:
    """Return the hint for an error within the program: the name probably meant, or the inputs' shapes."""
    if message.startswith('"bitwise_xor_cpu" not implemented'):
        return "'^' is exclusive or; a power is x**2"
    if message.startswith("unsupported operand type"):
        return next((of_extreme(name) for name in ELEMENTWISE if f"'{name}'" in message), "")
    if not message.startswith(SHAPES):
        return ""
    shapes = [f"{name} {tuple(tensor.shape)}" for name, tensor in inputs]
    return f"the inputs are {', '.join(shapes)}" if shapes else ""
