"""Find an example of an operator for the command line: calls on small tensors are tried until one works.

example("softmax")   ('gradtrace eval "x.softmax(0)[0]" --x 1,2,3', "0.0900306, dy/dx = [0.0819251, ...]")
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from gradtrace import ops
from gradtrace.analysis.facts import is_finite, is_zero
from gradtrace.analysis.words import brief
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.tensor import Tensor
from gradtrace.limits import Budget
from gradtrace.program import watchdog
from gradtrace.program.names import is_known
from gradtrace.program.parse import parse
from gradtrace.program.run import run
from gradtrace.random import default_generator, manual_seed
from gradtrace.trace.values import frozen

Inputs = dict[str, str]  # as they are given on the command line
NUMBERS: tuple[Inputs, ...] = ({"x": "0.5"}, {"x": "1.5"}, {"x": "2"})
VECTOR, MATRIX, IMAGE = {"x": "1,2,3"}, {"x": "4,1;1,3"}, {"x": "ones(1,2,4,4)"}
# What follows x in a call, and the inputs to try it with; simple ones first.
CALLS: tuple[tuple[str, tuple[Inputs, ...]], ...] = (
    ("", NUMBERS),
    ("w", tuple({**one, "w": "2"} for one in NUMBERS)),
    ("0.5", NUMBERS[:1]),
    ("1, 2", NUMBERS[:1]),
    ("w, 0.5", ({"x": "0.5", "w": "2"},)),
    ("", (VECTOR, MATRIX)),
    ("0", (VECTOR, MATRIX)),
    ("1", (VECTOR,)),
    ("2", (VECTOR, MATRIX)),
    ("w", ({**VECTOR, "w": "2,0,-1"}, {**MATRIX, "w": "1,2;0,1"}, {**MATRIX, "w": "1,2"})),
    ("0, 1", (MATRIX,)),
    ("2, 0", (VECTOR,)),
    ("w, w", ({**VECTOR, "w": "2,0,-1"}, {**MATRIX, "w": "1,2;0,1"})),
    ("0, tensor([0, 1])", (MATRIX,)),
    ("0, tensor([[0, 1]])", (MATRIX,)),
    ("tensor([0, 2])", (VECTOR,)),
    ("x > 1, 5.0", (VECTOR,)),
    ("x > 1", (VECTOR,)),
    ("tensor([0, 1])", (MATRIX,)),
    ("2", (IMAGE,)),
    ("(1, 1)", (IMAGE, VECTOR)),
    ("w", ({**IMAGE, "w": "ones(3,2,2,2)"}, {**IMAGE, "w": "ones(2,3,2,2)"})),
)
F, ROWS = "import torch.nn.functional as F; ", "1,2;3,4"
# Those that take something else.
OWN: dict[str, tuple[str, Inputs]] = {
    "as_strided": ("x.as_strided((2,), (2,))", MATRIX),
    "batch_norm": (F + "F.batch_norm(x, None, None, training=True)", {"x": ROWS}),
    "binary_cross_entropy": ("binary_cross_entropy(x, tensor(1.0))", {"x": "0.5"}),
    "bmm": ("x.bmm(x)", {"x": "ones(1,2,2)"}),
    "chunk": ("x.chunk(2)[1]", MATRIX),
    "conv1d": ("conv1d(x, w)", {"x": "ones(1,1,3)", "w": "ones(1,1,2)"}),
    "conv3d": (F + "F.conv3d(x, w)", {"x": "ones(1,1,2,2,2)", "w": "ones(1,1,2,2,2)"}),
    "conv_transpose2d": (F + "F.conv_transpose2d(x, w)", {"x": "ones(1,1,2,2)", "w": "ones(1,1,2,2)"}),
    "embedding": ("import torch; torch.nn.functional.embedding(torch.tensor([1]), x)", {"x": ROWS}),
    "index_add": ("x.index_add(0, tensor([0]), w)", {"x": "1,2,3", "w": "ones(1)"}),
    "index_copy": ("x.index_copy(0, tensor([2]), w)", {"x": "1,2,3", "w": "ones(1)"}),
    "index_fill": ("x.index_fill(0, tensor([2]), 5.0)", VECTOR),
    "kthvalue": ("x.kthvalue(2)[0]", VECTOR),
    "layer_norm": ("layer_norm(x, (3,))", VECTOR),
    "max_unpool2d": (
        "import torch; import torch.nn.functional as F; "
        "F.max_unpool2d(x, torch.zeros(1, 1, 1, 1, dtype=torch.int64), 2)",
        {"x": "ones(1,1,1,1)"},
    ),
    "narrow": ("x.narrow(0, 0, 2)", VECTOR),
    "nll_loss": ("import torch; torch.nn.functional.nll_loss(x, torch.tensor([0, 1]))", {"x": ROWS}),
    "one_hot": ("import torch; torch.nn.functional.one_hot(x.long())", VECTOR),
    "pixel_shuffle": (F + "F.pixel_shuffle(x, 2)", {"x": "ones(1,4,1,1)"}),
    "renorm": ("x.renorm(2, 0, 1.0)", MATRIX),
    "reshape": ("x.reshape(4)", MATRIX),
    "rms_norm": (F + "F.rms_norm(x, (3,))", VECTOR),
    "scatter": ("x.scatter(0, tensor([2]), 5.0)", VECTOR),
    "scatter_add": ("x.scatter_add(0, tensor([0]), w)", {"x": "1,2,3", "w": "ones(1)"}),
    "select_scatter": ("x.select_scatter(w, 0, 1)", {"x": ROWS, "w": "5,6"}),
    "solve_triangular": ("import torch; torch.linalg.solve_triangular(x, w, upper=True)", {**MATRIX, "w": ROWS}),
    "split": ("x.split(2)[0]", VECTOR),
    "topk": ("x.topk(2)[0]", VECTOR),
    "unfold": ("x.unfold(0, 2, 1)", VECTOR),
    "view": ("x.view(4)", MATRIX),
}
LISTED = ("[x, x * 2]", "([x, x * 2])")  # of functions that take a list
HOMES = (
    ("f", "functions", "torch"),
    ("n", "functional", "F"),
    ("s", "special", "torch.special"),
    ("l", "linalg", "torch.linalg"),
)
SEED = 1  # of an example that draws random numbers; its command line names it
LIMIT = Budget(seconds=2.0)
LARGEST = 64  # elements of a result of which one is shown


def example(name: str) -> tuple[str, str]:
    """Return an expression that works and its result; ("", "") if no call works."""
    second: tuple[str, str] | None = None
    for call, inputs in calls(name):
        found = tried(call, inputs)
        if found is None:
            continue
        told, slopes = found
        if slopes:
            return told
        second = second or told
    return second or ("", "")


def calls(name: str) -> Iterator[tuple[str, Inputs]]:
    """Yield calls of the operator as expressions, with their inputs."""
    if name in OWN:
        yield OWN[name]
        return
    form = form_of(name)
    if form is None:
        return
    for rest, choices in CALLS:
        for inputs in choices:
            yield form.format(rest=rest, comma=", " if rest else ""), inputs
    if "({comma}" not in form and not form.startswith("(x"):
        head = form.partition("(x")[0]
        for listed in LISTED:
            yield f"{head}({listed})", VECTOR


def form_of(name: str) -> str | None:
    """Return an example call of the operator on x: as a method, a function, or one of PyTorch's modules."""
    if name in vars(Tensor):
        return f"(x * 1).{name}({{rest}})" if name.endswith("_") else f"x.{name}({{rest}})"
    if is_known(name):
        return f"{name}(x{{comma}}{{rest}})"
    for _, table, module in HOMES:
        if name in getattr(ops.api, table):
            start = "import torch.nn.functional as F; " if module == "F" else "import torch; "
            return f"{start}{module}.{name}(x{{comma}}{{rest}})"
    return None


def tried(call: str, inputs: Inputs) -> tuple[tuple[str, str], bool] | None:
    """Return the command line of a call that works, its result, and whether its gradient is nonzero."""
    try:
        y, x = evaluated(call, inputs)
        if isinstance(y, (tuple, list)):  # of several results the first
            call += "[0]"
            y, x = evaluated(call, inputs)
        if y.numel() > 1 and y.numel() <= LARGEST:
            call += f"[{', '.join('0' * y.ndim)}]"
            y, x = evaluated(call, inputs)
        if y.numel() != 1:
            return None
        slope = None
        if y.requires_grad:
            y.backward()
            slope = x._x.grad if x._x is not None else None
        values = [frozen(t) for t in (y, slope) if t is not None]
    except Exception:  # it takes something else, or is not defined there
        return None
    if not all(is_finite(value) for value in values):
        return None
    options = "".join(
        f" --{key} {text if text.replace('.', '').isdecimal() else quoted(text)}" for key, text in inputs.items()
    )
    if default_generator.has_drawn():
        options += f" --seed {SEED}"
    told = brief(values[0]) + (f", dy/dx = {brief(values[1])}" if slope is not None else "")
    return (f'gradtrace eval "{call}"{options}', told), slope is not None and not is_zero(values[1])


def quoted(text: str) -> str:
    return text if text.replace(",", "").replace(".", "").replace("-", "").isdecimal() else f'"{text}"'


def evaluated(call: str, inputs: Inputs) -> tuple[Any, Tensor]:
    """Return the result of a call, and x. ValueError if the result is not a tensor or tensors that depend on all the
    inputs.
    """
    program = parse(call)
    if {one.name for one in program.inputs} != set(inputs):
        raise ValueError
    dtype = "float32" if program.imports_torch else "float64"
    given = {name: tensor_of(text, dtype).clone().requires_grad_() for name, text in inputs.items()}
    manual_seed(SEED)
    with watchdog.patient():
        result = run(program, given, budget=LIMIT).root
    if not isinstance(result, Tensor) and not (isinstance(result, (tuple, list)) and result):
        raise ValueError
    return result, given["x"]


@cache
def tensor_of(text: str, dtype: str) -> Tensor:
    """Return an input as the command line reads it: "0.5", "1,2,3", "4,1;1,3", "ones(1,2,4,4)"."""
    rows = [f"[{row}]" for row in text.split(";")]
    source = (
        text
        if "(" in text
        else f"tensor([{', '.join(rows)}])"
        if len(rows) > 1
        else (f"tensor([{text}])" if "," in text else f"tensor({text})")
    )
    made: Tensor = run(parse(source)).root
    return made.to(dtypes.BY_NAME[dtype])
