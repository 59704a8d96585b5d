"""Hints for unknown names, and for errors of the engine, whose messages are PyTorch's and do not
mention options.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Iterable

# how a message begins: what to do, where an option of the tool would help
FLAGS = {
    "grad can be implicitly created only for scalar outputs": (
        "give the vector with --grad-tensors VALUE (1 for each element sums them), or reduce the "
        "output, as by .sum()"
    ),
    "Mismatch in shape: grad_output": "--grad-tensors takes a value of the output's shape",
    "element 0 of tensors does not require grad": "it depends on nothing that requires grad",
    "One of the differentiated Tensors": "check --inputs and --no-grad",
    "can't retain_grad on Tensor": "check --inputs and --retain-grad: only tensors that require "
    "grad have gradients",
}
ELEMENTWISE = {
    "max": "for each element: relu(x), clamp(x, min=0) or maximum(x, y)",
    "min": "for each element: clamp(x, max=0) or minimum(x, y)",
}
NOT_CALLABLE = [f"'{kind}' object is not callable" for kind in ("Tensor", "int", "float")]
SHAPES = (
    "The size of tensor",
    "mat1 and mat2",
    "shape '",
    "size mismatch",
    "The expanded size",
    "inconsistent tensor",
)


def near(name: str, names: Any, otherwise: str = "") -> str:
    """Return the hint for an unknown name: the most similar known one, else `otherwise` or all of
    them.
    """
    from gradtrace.views.names import close

    return close(name, names) or otherwise or f"there are {', '.join(names)}"


def of_backward(message: str, text: str = "", done: int = 0) -> str:
    """Return the hint for an error of the command's call of backward on the expression `text`,
    after `done` calls; "" without one.
    """
    if message.startswith("Trying to backward through the graph a second time"):
        return (
            "--retain-graph keeps the saved values for another backward"
            if done
            else "the program itself freed them: write retain_graph=True in its own call"
        )
    if message.startswith("element 1 of tensors does not require grad"):
        return of_extreme(text.removeprefix("torch.").partition("(")[0])
    return next((hint for start, hint in FLAGS.items() if message.startswith(start)), "")


def of_extreme(name: str) -> str:
    """Return a hint that max(x, 0) and min(x, 0) return a pair; "" for any other name."""
    hint = ELEMENTWISE.get(name)
    return f"{name}(x, 0) is along dim 0, a pair of values and indices; {hint}" if hint else ""


def of_program(message: str, inputs: Iterable[tuple[str, Any]], place: Any = None) -> str:
    """Return the hint for an error within the program: the name probably meant, or the inputs'
    shapes.
    """
    if message.startswith('"bitwise_xor_cpu" not implemented'):
        return "'^' is exclusive or; a power is x**2"
    if message.startswith("unsupported operand type"):
        return next((of_extreme(name) for name in ELEMENTWISE if f"'{name}'" in message), "")
    if message in NOT_CALLABLE and place is not None:
        from gradtrace.program.notation import translated

        product = translated(place.text)
        return (
            f"{'write' if set(place.text) & set('^²') or '**' in place.text else 'a product is'} "
            f"{product}"
            if product
            else ""
        )
    if not message.startswith(SHAPES):
        return ""
    shapes = [f"{name} {tuple(tensor.shape)}" for name, tensor in inputs]
    return f"the inputs are {', '.join(shapes)}" if shapes else ""


def of_constants(tree: Any) -> str:
    """Return the hint for a program that computes with plain numbers only; "" if it sets no
    variable to one.
    """
    for node in tree.body:
        name = getattr(getattr(node, "targets", (None,))[0], "id", "")
        value = getattr(getattr(node, "value", None), "value", None)
        if type(value) in (int, float) and name:
            return f"a constant has no gradient; write {name}: leaf = {value}"
    return ""


TABLES = (".csv", ".tsv", ".jsonl", ".parquet", ".npy", ".npz")


def of_file(name: str) -> str:
    """Return what a file is whose suffix says that it is not a program, and the command that reads
    it; "" for others.
    """
    if name.endswith(TABLES):
        return (
            f"{name} is data, not a program: gradtrace map EXPRESSION --data {name}, or --x @{name}"
        )
    if name.endswith(".ipynb"):
        return f"{name} is a notebook, not a program: gradtrace verify {name} runs its cells"
    if name.endswith(".gtc"):
        return f"{name} is a capsule, not a program: gradtrace replay {name} repeats its step"
    return ""


def of_source(text: str) -> str:
    """Return the hint for a source whose free names are not meant as variables: a file's name,
    d/dx; "" for others.
    """
    from gradtrace.program.notation import of_other_notation

    if " " not in text and (hint := of_file(text)):
        return hint
    return of_other_notation(text) if text.startswith(("d/d", "∂/∂")) else ""


def of_module(name: str, text: str) -> str:
    """Return the hint for a variable that is meant as a module: linalg.det(A), np.sin(x); "" for
    others.
    """
    import re

    from gradtrace.program.mathematics import torch_module_of, value_in_module
    from gradtrace.program.names import is_known

    match = re.search(rf"\b{re.escape(name)}\.(\w+)", text)
    if match is None:
        return ""
    if name == "fft":  # of PyTorch only
        return f"torch.{match[0]} needs PyTorch: write it in a file, and give --engine torch"
    function = match[1]
    if name in ("np", "numpy", "jnp"):
        if is_known(function):
            return f"write {function}"
        module = torch_module_of(function)
        return f"write {module}.{function}" if module else ""
    try:
        value_in_module(f"torch.{name}", function)
    except (ImportError, AttributeError):
        return ""
    return f"write torch.{match[0]}"


def of_taken(name: str) -> str:
    """Return the hint for a variable's name that means something else: e, pi; "" for a free one."""
    from gradtrace.program.names import is_known

    if is_known(name):
        return f"{name} has a meaning of its own; give the variable another name"
    return ""


def of_option(name: str, options: Iterable[str], text: str) -> str:
    """Return the hint for an option that neither the command nor the program `text` has; "" without
    one.
    """
    from gradtrace.program.notation import called_like_function

    if name == "--format":
        return "the suffix of -o says it: -o FILE.svg" if "-o" in options else ""
    if taken := of_taken(name[2:]):
        return taken
    if "·" in text and len(text) < 200:
        return f"'·' is a letter of names; a product is {text.strip().replace('·', '*')}"
    if text[:1] == "π" and text.strip()[1:].isidentifier():
        return f"π and the letters after it are one name; a product is pi*{text.strip()[1:]}"
    product = called_like_function(text, name[2:])
    return f"{name[2:]}(...) calls a function; a product is {product}" if product else ""
