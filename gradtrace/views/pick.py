"""Select one fact of a trace by a short path.

    y   dy/dw   y.value   w.grad   root
    x.shape   a.grad_fn   w.requires_grad   w.grad.grad_fn   w.grad[0,-1]   (x+w).grad

The tensor is a variable, the end of its name after a dot (`encoder.weight` of
`model.encoder.weight`) if only one name ends so, the source text of an intermediate result (its
outer parentheses do not matter), or `root`, the result; the field is `value` if none is given. As
in the columns of `map`, `y` is also the result, unless a variable has that name, and `dy/dw` is the
gradient of w.
"""

from __future__ import annotations

from gradtrace.annotations import Any, NamedTuple
from gradtrace.errors import UsageError
from gradtrace.lazy_names import word_pairs
from gradtrace.trace.record import TensorRecord, Trace, Value
from gradtrace.views import numbers
from gradtrace.views.names import close, full_name

FLAGS = ("is_leaf", "requires_grad", "retains_grad", "is_output", "is_parameter")
TEXTS = ("grad_fn", "op", "kind", "label", "name", "grad_note")
FIELDS = ("value", "grad", "shape", "dtype", *FLAGS, *TEXTS)
RESULT = "y"  # what `map` calls a result without a name
# of peft, of data parallelism, of torch.compile
WRAPPERS = ("base_model.model.", "module.", "_orig_mod.")
DEEP = ".grad.grad_fn"  # the one field with a dot in it
OF_FIELD = frozenset("abcdefghijklmnopqrstuvwxyz_")  # the letters of fields' names


class Picked(NamedTuple):
    """A fact (a Value, or plain data), and if it is None, the reason."""

    fact: Any
    note: str = ""

    @property
    def text(self) -> str:
        """The text that `--get` prints: values with every digit, anything else as Python prints it.

        NotKeptError for a tensor of which no value is known.
        """
        if not isinstance(self.fact, Value):
            return str(self.fact)
        return numbers.full(self.fact) if self.fact.is_measured else str(self.fact.data)

    @property
    def json(self) -> Any:
        return numbers.jsonable(self.fact)


def pick(trace: Trace, path: str) -> Picked:
    """Return the fact at `path`. UsageError for an unknown tensor, field or index."""
    path = path.strip()
    path, index = indexed(path) if lookup(trace, path, "--get") is None else (path, "")
    # the text of a result may hold dots and brackets itself
    t, name = lookup(trace, path, "--get"), ""
    if t is None:
        text, name = parts(column(trace, path))
        t = lookup(trace, text, "--get")
        if t is None:
            raise unknown(trace, text if name in FIELDS else path)
    picked = field(t, name or "value")
    return element(picked, index, path + index) if index else picked


def indexed(path: str) -> tuple[str, str]:
    """Return a path such as `w.grad[0]` without its index, and the index, or ""."""
    start = path.find("[", max(1, path.rfind("]", 0, -1) + 1)) if path.endswith("]") else -1
    return (path[:start], path[start:]) if start > 0 else (path, "")


def parts(path: str) -> tuple[str, str]:
    """Return the tensor and the field of a path such as `w.grad`; the field may be ""."""
    if path.endswith(DEEP) and path != DEEP:
        return path.removesuffix(DEEP), DEEP[1:]
    before, _, name = path.rpartition(".")
    return (before, name) if before and name and OF_FIELD.issuperset(name) else (path, "")


def tensor(trace: Trace, text: str, option: str) -> TensorRecord:
    """Return the tensor with the name or source text `text`. UsageError, with the option's name, if
    there is none.
    """
    record = lookup(trace, text, option)
    if record is None:
        raise unknown(trace, text, option)
    return record


def lookup(trace: Trace, text: str, option: str) -> TensorRecord | None:
    """Return the tensor with the name or source text `text`, or the only one whose name ends with
    it; else None.

    UsageError, with the option's name, if several do.
    """
    ids = dict(trace.names)
    if text in ids:
        return trace.tensors[ids[text]]
    if text == "root":
        return root(trace)
    wanted = bare(text)
    same = [t for t in trace.tensors if bare(t.label) == wanted]
    # "loss" is the last one of "loss #1", "loss #2", ...
    same = same or [t for t in trace.tensors if t.label.rpartition(" #")[0] == text]
    if not same and (inner := unwrapped(text)):
        matches = {i for name, i in trace.names if name.partition(".")[2] == inner}
        same = [trace.tensors[i] for i in matches] if len(matches) == 1 else []
    if same:
        return same[-1]
    if text == RESULT:
        return root(trace)
    name = full_name(text, ids, option)
    return None if name is None else trace.tensors[ids[name]]


def unwrapped(path: str) -> str:
    """Return a parameter's path without its variable and the module that wraps the model:
    "0.weight" for "ddp.module.0.weight", the "0.weight" of its model; "" for any other path.
    """
    inside = path.partition(".")[2]
    return next(
        (inside.removeprefix(wrapper) for wrapper in WRAPPERS if inside.startswith(wrapper)), ""
    )


def root(trace: Trace) -> TensorRecord | None:
    """Return the tensor that is the run's result, or None."""
    starts = trace.outputs or trace.roots
    return trace.tensors[starts[0]] if starts else None


def column(trace: Trace, path: str) -> str:
    """Return the path `w.grad` for `dy/dw`, where y is the result; any other path unchanged."""
    above, by, below = path.partition("/d")
    result = root(trace)
    if not by or above[:1] != "d" or result is None or above[1:] not in (RESULT, *result.names):
        return path
    name, bracket, index = below.partition("[")
    return f"{name}.grad{bracket}{index}"


def bare(text: str) -> str:
    """Return source text without blanks and without outer parentheses."""
    text = "".join(text.split())
    while text.startswith("(") and text.endswith(")") and encloses(text):
        text = text[1:-1]
    return text


def encloses(text: str) -> bool:
    depth = 0
    for i, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return i == len(text) - 1
    return False


def separated(text: str) -> list[str]:
    """Return the paths of a list: "x.grad,w[0,1]" has two."""
    paths = [""]
    depth = 0
    for char in text:
        depth += (char == "[") - (char == "]")
        if char == "," and not depth:
            paths.append("")
        else:
            paths[-1] += char
    return paths


def field(t: TensorRecord, name: str) -> Picked:
    if name == "value":
        return Picked(t.value, t.missing)
    if name == "grad":
        return Picked(t.grad, t.grad_note)
    if name == "grad.grad_fn":
        return Picked(t.grad_fn_of_grad)
    if name == "shape":
        return Picked(tuple(t.value.shape) if t.value is not None else None)
    if name == "dtype":
        return Picked(t.value.dtype if t.value is not None else None)
    if name in FLAGS or name in TEXTS:
        return Picked(getattr(t, name))
    raise UsageError(
        f"--get: a tensor has no field '{name}'",
        meant(name) or close(name, FIELDS) or f"there are {', '.join(FIELDS)}",
    )


def element(picked: Picked, index: str, path: str) -> Picked:
    """Return the element `[0]` or `[0,-1]` of a value or a gradient; with fewer indices than
    dimensions, a part of it.
    """
    value = picked.fact
    if not isinstance(value, Value):
        raise UsageError(f"--get: '{path}' is not a tensor's value and has no elements")
    try:
        where = tuple(int(part) for part in index[1:-1].split(","))
    except ValueError:
        raise UsageError(
            f"--get: '{index}' is not an index", "for instance w.grad[0] or w.grad[0,-1]"
        ) from None
    fits = len(where) <= len(value.shape) and all(
        -n <= i < n for i, n in zip(where, value.shape, strict=False)
    )
    if not fits:
        raise UsageError(f"--get: index {index} is outside of shape {numbers.shape(value)}")
    part = value.data[where]
    return Picked(Value(part.shape, value.dtype, part if part.shape else part.item()))


def unknown(trace: Trace, text: str, option: str = "--get") -> UsageError:
    names = [name for name, _ in trace.names]
    there = f"there are {', '.join([*names, 'root'])}"
    failure = trace.failure
    if failure is not None:
        where = "" if failure.span is None else f" {failure.span.at}"
        there += f"; the program failed{where} with {failure.kind}: {failure.message}"
    return UsageError(f"{option}: no tensor '{text}' here", close(text, names) or there)


# What users call a field or a column: its name here.
SYNONYMS = word_pairs("""
    gradient grad  gradients grad  grads grad  derivative grad  values value  data value  result value
    size shape  type dtype  leaf is_leaf
""")


def meant(word: str) -> str:
    """Return "did you mean ...?" if a word is a synonym of a field or column; else ""."""
    synonym = SYNONYMS.get(word.lower())
    return f"did you mean {synonym}?" if synonym else ""
