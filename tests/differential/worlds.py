"""The same statements run in two libraries, and what they left behind compared."""

from __future__ import annotations

import itertools
import re
import sys
import warnings
from typing import Any, NamedTuple

import numpy as np

# Relative to the largest magnitude of an array: the two libraries add in different orders.
TOLERANCE = {"float32": 2e-4, "float64": 1e-8, "float16": 1e-2, "bfloat16": 1e-1}
# What is left of larger numbers that cancel is noise.
SMALLEST = 1e-3
# Of a float64 number that came of float32 ones.
MIXED = 2e-5
DEPTH = 4
# Operators whose first derivative takes other steps than PyTorch's, because those give nan when they are derived again.
UNLIKE = ("logcumsumexp",)
# A gradient's layout shows what buffers the engine reused and not what was computed: `fresh` gives each one its own.
OPENING = """
import torch
import torch.nn.functional as F
log = []
class Twice(torch.autograd.Function):  # in place
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)
    @staticmethod
    def backward(ctx, g):
        return g * 2
class AddTo(torch.autograd.Function):  # in place, of two operands
    @staticmethod
    def forward(ctx, x, y):
        ctx.mark_dirty(x)
        x.add_(y.sum())
        return x
    @staticmethod
    def backward(ctx, g):
        return g, None
class Squared(torch.autograd.Function):  # saves its result
    @staticmethod
    def forward(ctx, x):
        y = x * x
        ctx.save_for_backward(x, y)
        return y
    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * (2 * x + 0 * y)
class Same(torch.autograd.Function):  # gives its input
    @staticmethod
    def forward(ctx, x):
        return x
    @staticmethod
    def backward(ctx, g):
        return g * 3
class Flat(torch.autograd.Function):  # gives a view
    @staticmethod
    def forward(ctx, x):
        ctx.shape_of_x = x.shape
        return x.view(-1)
    @staticmethod
    def backward(ctx, g):
        return g.view(ctx.shape_of_x)
class Halves(torch.autograd.Function):  # gives two results, one without gradient
    @staticmethod
    def forward(ctx, x):
        y, z = x * 0.5, x.sign()
        ctx.mark_non_differentiable(z)
        return y, z
    @staticmethod
    def backward(ctx, g, h):
        return g * 0.5 + h
def fresh(gradients):
    return tuple([g if g is None else g.clone(memory_format=torch.contiguous_format) for g in gradients])
"""
# Of a gradient these show which buffers the engine reused, not what was computed.
LAYOUT = ("is_contiguous", "storage_offset", "_version", "_is_view")


class Terms(NamedTuple):
    """How closely two worlds are compared."""

    least: float  # the tolerance that holds at least
    graphs: bool  # not where one of UNLIKE is derived twice
    versions: bool  # not where inference tensors are: PyTorch's kernels then count the versions of their own results


class World:
    """One library, the program's variables in it, and the log that its hooks write."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self.names: dict[str, Any] = {}
        self.text = ""  # of the program so far
        exec(OPENING, self.names)

    def run(self, statement: str) -> str:
        """Run one statement; the error's type and first line, or ""."""
        self.text += statement + "\n"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(compile(statement, "program", "exec"), self.names)
        except Exception as error:
            return f"{type(error).__name__}: {tidy(str(error))}"
        return ""

    def variables(self) -> dict[str, Any]:
        tensor = self.library.Tensor
        return {name: value for name, value in self.names.items() if isinstance(value, tensor)}


class ProgramWorld(World):
    """gradtrace's programs, statement by statement in one namespace, as `gradtrace repl` has them."""

    def __init__(self, library: Any) -> None:
        from gradtrace.limits import Budget
        from gradtrace.program.dialogue import Dialogue

        self.library = library
        self.dialogue = Dialogue("program", Budget())
        self.text = ""
        assert self.run(OPENING) == ""

    def run(self, statement: str) -> str:
        from gradtrace.errors import GradtraceError

        try:
            self.dialogue.run(self.dialogue.parse(statement), stdout=sys.stdout, stderr=sys.stderr)
        except GradtraceError as error:
            return tidy(error.message)
        finally:
            self.names = vars(self.dialogue.module)
        return ""


def tidy(text: str) -> str:
    text = re.sub(r"\n(Exception raised from|C\+\+ CapturedTraceback).*", "", text, flags=re.DOTALL)
    return re.sub(r"0x[0-9a-f]+", "0xADDRESS", text).strip()


def array(tensor: Any) -> Any:
    return tensor.detach().numpy(force=True)


def flags(tensor: Any) -> dict[str, Any]:
    """Everything of a tensor but its numbers."""
    try:
        grad_fn = tensor.grad_fn
    except RuntimeError as error:  # an invalid view says so when it is looked at
        return {"error": tidy(str(error))}
    return {
        "shape": tuple(tensor.shape),
        "dtype": str(tensor.dtype),
        "storage_offset": tensor.storage_offset() if tensor.numel() else 0,
        "requires_grad": tensor.requires_grad,
        "is_leaf": tensor.is_leaf,
        "retains_grad": tensor.retains_grad,
        "_version": version(tensor),
        "_is_view": tensor._is_view(),
        "grad_fn": None if grad_fn is None else grad_fn.name(),
        "graph": names(grad_fn),
    }


def version(tensor: Any) -> int | None:
    try:
        return int(tensor._version)
    except RuntimeError:  # of an inference tensor
        return None


def names(node: Any) -> list[str]:
    """The graph's node names, breadth first, to a depth of DEPTH."""
    found: list[str] = []
    level = [node] if node is not None else []
    for depth in range(DEPTH):
        following = []
        for node in level:
            edges = node.next_functions
            found.append(
                f"{depth} {node.name()} {[(each and each.name(), number) for each, number in edges]}"
            )
            following += [each for each, _ in edges if each is not None]
        level = following[:8]
    return found


def first_difference(a: list[str], b: list[str]) -> str:
    pairs = ((x, y) for x, y in itertools.zip_longest(a, b) if x != y)
    return "{} for {}".format(*next(pairs))


def same_numbers(a: Any, b: Any, least: float = 0.0) -> bool:
    """Whether two arrays agree within the tolerance of their dtype, or the `least` one."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind != "f":
        return bool((a == b).all())
    if not ((np.isnan(a) == np.isnan(b)).all() and (np.isinf(a) == np.isinf(b)).all()):
        return False
    if not (np.sign(a) == np.sign(b))[np.isinf(a)].all():
        return False
    tolerance = max(TOLERANCE[a.dtype.name], least)
    finite = np.isfinite(a)
    if not finite.any():
        return True
    scale = float(np.abs(a[finite]).max())
    return bool((np.abs(a[finite] - b[finite]) <= tolerance * max(scale, SMALLEST)).all())


def shown(tensor: Any) -> str:
    try:
        return repr(tensor)
    except RuntimeError:  # PyTorch cannot print some views of inference tensors
        return ""


def difference(name: str, ours: Any, theirs: Any, terms: Terms) -> tuple[str, bool]:
    """Where two tensors differ ("" if nowhere), and whether only their numbers do."""
    a, b = flags(ours), flags(theirs)
    for key in {**a, **b}:
        if key == "graph" and a.get(key) != b.get(key):
            if not terms.graphs:
                continue
            return f"{name}'s graph: {first_difference(a[key], b[key])}", False
        if key in ("_version", "_is_view") and not terms.versions:
            continue
        if a.get(key) != b.get(key) and not (key in LAYOUT and name.endswith(".grad")):
            return f"{name}.{key}: {a.get(key)} for {b.get(key)}", False
    if "error" in a:
        return "", False
    p, q = array(ours), array(theirs)
    if not same_numbers(p, q, terms.least):
        return f"{name}: {p.tolist()} for {q.tolist()}", True
    if p.tobytes() == q.tobytes() and shown(theirs) not in ("", shown(ours)):
        return f"repr({name}): {ours!r} for {theirs!r}", False
    if (ours.grad is None) != (theirs.grad is None):
        return f"{name}.grad: {ours.grad} for {theirs.grad}", False
    if ours.grad is not None:
        return difference(f"{name}.grad", ours.grad, theirs.grad, terms)
    return "", False


def compare(ours: World, theirs: World) -> tuple[str, bool]:
    """The first difference between two worlds ("" if none), and whether it is one of numbers alone."""
    a, b = ours.variables(), theirs.variables()
    if a.keys() != b.keys():
        return f"variables: {sorted(a)} for {sorted(b)}", False
    terms = Terms(
        least=MIXED if any(str(value.dtype) == "torch.float32" for value in b.values()) else 0.0,
        graphs=not any(name in theirs.text for name in UNLIKE) or "create_graph" not in theirs.text,
        versions=not any(value.is_inference() for value in b.values()),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in a:
            found = difference(name, a[name], b[name], terms)
            if found[0]:
                return found
        return logs(ours, theirs, terms)


def logs(ours: World, theirs: World, terms: Terms) -> tuple[str, bool]:
    a, b = ours.names["log"], theirs.names["log"]
    if len(a) != len(b):
        return f"hooks ran {len(a)} times for {len(b)}: {a} for {b}", False
    for mine, other in zip(a, b, strict=True):
        for p, q in zip(mine, other, strict=True):
            if isinstance(p, ours.library.Tensor):
                found = difference("a hook's gradient", p, q, terms)
                if found[0]:
                    return found
            elif p != q:
                return f"the hooks' log: {mine} for {other}", False
    a.clear()
    b.clear()
    return "", False
