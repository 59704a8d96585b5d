"""Hints for unknown names, and for errors of the engine, whose messages are PyTorch's and do not
mention options.
"""

from __future__ import annotations

from itertools import pairwise

from gradtrace.annotations import Any, Iterable

# how a message begins: what to do, where an option of the tool would help
FLAGS = {
    "grad can be implicitly created only for scalar outputs": (
        "give the vector with --grad-tensors VALUE (1 for each element sums them), or reduce the "
        "output, as by .sum()"
    ),
    "Mismatch in shape: grad_output": "--grad-tensors takes a value of the output's shape",
    "element 0 of tensors does not require grad": "it depends on nothing that requires grad",
    "One of the differentiated Tensors": "name only tensors that require grad",
    "can't retain_grad on Tensor": "name only tensors that require grad",
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


def decimal_comma(program: Any) -> str:
    """Return the number that the program's first tuple of a number with a comma is meant as: "1.5"
    for 1,5*x; "" without one.
    """
    from gradtrace.program import syntax as ast

    nodes = list(ast.walk(program.tree))
    apart = {item for node in nodes for item in getattr(node, "args", ())}
    apart |= {getattr(node, "slice", None) for node in nodes}
    for node in nodes:
        parts = node.elts if isinstance(node, ast.Tuple) and node not in apart else []
        for left, right in pairwise(parts):
            line = program.source.line(left.end_lineno or 0).encode()
            at = left.end_col_offset or 0
            if left.end_lineno != right.lineno or line[at : right.col_offset] != b",":
                continue
            if number := point_of(line[:at].decode(), line[at + 1 :].decode()):
                return number
    return ""


def point_of(before: str, after: str) -> str:
    """Return the number of the digits that stand before and after a comma; "" if there are none."""
    import re

    whole = re.search(r"(?<![\w.])\d+$", before)
    fraction = re.match(r"\d+(?![\w.])", after)
    return f"{whole[0]}.{fraction[0]}" if whole and fraction else ""


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
    if "positional argument" in message and place is not None:
        before, comma, after = place.text[place.column - 1 :].partition(",")
        number = point_of(before, after) if comma else ""
        return f"a comma separates arguments; {number} is one number" if number else ""
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
# What a file is whose suffix, or whose first bytes, say that it is not a program.
SUFFIXES = {
    **dict.fromkeys(TABLES, "data"),
    ".ipynb": "a notebook",
    ".gtc": "a capsule",
    ".gtlog": "a flight log",
}
STARTS = {
    b"<svg": "a picture",
    b"<?xml": "a picture",
    b"\x89PNG": "a picture",
    b"GIF8": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"%PDF": "a picture",
    b"<!doctype html": "a page",
    b"<html": "a page",
}
REMEDIES = {
    "data": "gradtrace map EXPRESSION --data {0}, or --x @{0}",
    "a picture": "give the program that it was made of",
    "a page": "give the program that it was made of",
    "a notebook": "gradtrace verify {0} runs its cells",
    "a capsule": "gradtrace replay {0} repeats its step",
    "a file of torch.save": "a program reads it: torch.load('{0}') with --allow-read {0}",
    "binary data": "give a program's text, or a record of a run",
}
AGAIN = {
    "a capsule": "write it again: gt.capsule(PATH, step, model, batch)",
    "a notebook": "save it again",
    "a flight log": "write it again: gt.flight(PATH)",
}


def kind_of(name: str, content: bytes) -> str:
    """Return what a file is that is not a program, by its name and content: "a notebook"; "" for a
    program's text.
    """
    if kind := SUFFIXES.get(suffix_of(name)):
        return kind
    start = content[:2000]
    if start.startswith(b"PK\x03\x04") and b"/data.pkl" in start:
        return "a file of torch.save"
    if suffix_of(name) in (".py", ".txt", ".expr", ".gt"):
        return ""
    if start.startswith((b"PK\x03\x04", b"GTLOG ")):
        return ""
    lower = start.lstrip().lower()
    for begin, kind in STARTS.items():
        if start.startswith(begin) or lower.startswith(begin):
            return kind
    has_controls = not {*range(7), *range(14, 27)}.isdisjoint(start)
    return "binary data" if has_controls and not is_text(start) else ""


def is_text(start: bytes) -> bool:
    """Whether bytes are UTF-8, apart from a character that is cut at their end."""
    try:
        start.decode()
    except UnicodeDecodeError as error:
        return error.start > len(start) - 4
    return True


def suffix_of(name: str) -> str:
    return name[name.rfind(".") :].lower() if "." in name else ""


def is_damaged(kind: str, content: bytes) -> bool:
    """Whether a file is not what its suffix says."""
    if kind == "a capsule":
        import io
        import zipfile

        return not zipfile.is_zipfile(io.BytesIO(content))
    if kind == "a flight log":
        return not content.startswith(b"GTLOG ")
    if kind != "a notebook":
        return False
    import json

    try:
        return not isinstance(json.loads(content), dict)
    except ValueError:
        return True


def of_file(name: str, content: bytes) -> tuple[str, str]:
    """Return what a file is that is not a program, and what to do with it; two "" for others."""
    kind = kind_of(name, content)
    if kind and is_damaged(kind, content):
        return f"'{name}' is damaged: it is not {kind}", AGAIN[kind]
    if kind not in REMEDIES:
        return "", ""
    return f"{name} is {kind}, not a program", REMEDIES[kind].format(name)


def of_source(text: str) -> str:
    """Return the hint for a source whose free names are not meant as variables: a folder, d/dx; ""
    for others.
    """
    import os

    from gradtrace.program.notation import of_other_notation

    if os.path.isdir(text):
        return f"{text} is a folder: name a file in it"
    return of_other_notation(text) if text.startswith(("d/d", "∂/∂")) else ""


def is_missing(text: str) -> bool:
    """Whether a source is the name of a file that does not exist: its suffix is that of a file, or
    is not an attribute of tensors.
    """
    import os
    import re

    from gradtrace.engine.data.tensor import Tensor

    if not re.fullmatch(r"[\w./\\-]+\.\w+", text) or os.path.exists(text):
        return False
    return suffix_of(text) in SUFFIXES or not hasattr(Tensor, suffix_of(text)[1:])


def of_module(name: str, text: str) -> str:
    """Return the hint for a variable that is meant as a module: linalg.det(A), np.sin(x); "" for
    others.
    """
    import re

    from gradtrace.program import torch_homes
    from gradtrace.program.names import is_known

    match = re.search(rf"\b{re.escape(name)}\.(\w+)", text)
    if match is None:
        return ""
    function = match[1]
    if name in ("np", "numpy", "jnp"):
        if is_known(function):
            return f"write {function}"
        home = torch_homes.home_of(function)
        return f"write {home}" if home else torch_homes.of_name(function)
    module = f"torch.{name}"
    if torch_homes.has(module, function):
        return f"write {module}.{function}"
    if module not in torch_homes.SEARCHED:
        return ""
    otherwise = f"torch has no {name}.{function}; gradtrace ops lists the functions"
    elsewhere = torch_homes.of_name(function) or otherwise
    return torch_homes.needs_pytorch(function, (module,)) or elsewhere


def of_no_grad(no_grad: Any) -> str:
    """Return the hint for a result that depends on nothing that requires grad."""
    return "leave out --no-grad" if no_grad else "make a leaf with requires_grad=True"


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


def of_other_commands(option: str, owners: list[str]) -> str:
    """Return the hint for an option that other commands have; "" if none has."""
    if not owners:
        return ""
    more = " and others" if len(owners) > 3 else ""
    return f"{option} is an option of {', '.join(owners[:3])}{more}"
