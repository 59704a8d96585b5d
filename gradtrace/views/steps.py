"""The steps of a run as tables, JSON, JSON Lines, CSV or Markdown.

    forward
    step  line  expression  operation  inputs    result  value  grad_fn       saved
    ...
    backward 1, line 4: from y with 1; saved values freed
    step  function      of  upstream  local  to  downstream
    ...

JSON Lines hold one step for each line, with `schema` "gradtrace/trace/step" and `version`; the JSON
document has them in `steps`. A step's `kind` is one of

    forward   operation, op, inputs (labels and constants), outputs [{tensor, label, value,
              requires_grad}], grad_fn, saved [{name, label, bytes}], text, grad_enabled
    start     pass, roots [{label, vector}], retain_graph, create_graph, inputs (of
              backward(inputs=), or null), stores (false for autograd.grad)
    backward  pass, function, of, tensor, upstream, contributions [{source, value}] (if upstream is
              a sum), sent [{to, tensor, local, downstream}], hooks [{kind, name, before, after,
              changed}], freed [{name, label, bytes}], grad_dropped, grad_before, grad_after (of an
              AccumulateGrad)
    end       pass, error
    failed    text, inputs, exception, message: what ended the program

and each has `step` (from 1), `line` and `column` (from 1, or null).
"""

from __future__ import annotations

from gradtrace.analysis.steps import Backward, Ended, Failed, Forward, Kept, RunStep, Started
from gradtrace.annotations import Any, Iterable, Iterator
from gradtrace.lazy_names import words
from gradtrace.trace.record import HookRun, Span, Trace, Value
from gradtrace.views import layout, numbers, rows
from gradtrace.views.cells import bytes_text, visible, wrap
from gradtrace.views.layout import Cell, Column, LayoutOptions, paint, right

SCHEMA = "gradtrace/trace"
BLOCK = 2000  # at most this many rows of a table are laid out together
COLUMNS = words("step kind line name tensor operands value upstream local downstream notes")


def table(steps: Iterable[RunStep], options: LayoutOptions) -> Iterator[str]:
    """Yield the tables, piece by piece."""
    for title, part in sections(steps):
        if isinstance(part[0], Failed):
            yield from failed_lines(part[0], options)
            continue
        for line in [title] if options.width is None else wrap(title, options.width):
            yield paint(line, "bold", options) + "\n"
        yield from (
            forward_table(part, options)
            if isinstance(part[0], Forward)
            else backward_table(part, options)
        )
        yield "\n"


def sections(steps: Iterable[RunStep]) -> Iterator[tuple[str, list[Any]]]:
    """Yield runs of steps of one kind under a title, each of at most BLOCK steps."""
    title = ""
    kind: type | None = None
    part: list[Any] = []
    for step in steps:
        belongs = type(step) is kind and len(part) < BLOCK
        if part and not belongs:
            yield title, part
            part = []
        if isinstance(step, Failed):
            yield "", [step]
        elif isinstance(step, Started):
            kind = Backward
            title = head(step)
        elif isinstance(step, Ended):
            kind = Backward
            if step.error:
                yield f"backward {step.number_of_pass} ended by {visible(step.error)}", [step]
        else:
            if not belongs:
                kind = type(step)
                title = titled(step)
            part.append(step)
    if part:
        yield title, part


def failed_lines(step: Failed, options: LayoutOptions) -> Iterator[str]:
    """Yield "failed, line 7: y = a @ b", its operands, and the message, in red."""
    where = f", {step.span.where}" if step.span else ""
    of = f" (of {', '.join(step.inputs)})" if step.inputs else ""
    said = f"{step.kind}: {step.message}" if step.message else step.kind
    for text in (f"failed{where}: {step.text}{of}", said):
        yield layout.joined(layout.wrapped(text, "red", options, options.width or 100))


def titled(step: Forward | Backward) -> str:
    """Return the title of a section that does not begin with the start of a pass."""
    if isinstance(step, Forward):
        return (
            "forward"
            if step.number_of_pass is None
            else f"run within backward {step.number_of_pass}"
        )
    return f"backward {step.number_of_pass}, continued"


def head(step: Started) -> str:
    """Return the title of a pass: "backward 1, line 4: from y with 1, saved values freed"."""
    roots = (
        ", ".join(f"{label} with {numbers.short(vector)}" for label, vector in step.roots)
        or "an unnamed result"
    )
    method = "backward" if step.stores else "autograd.grad"
    where = f", {step.span.where}" if step.span else ""
    only = "" if step.inputs is None else f", for {', '.join(step.inputs)} alone"
    saved = (
        "the gradients' own graph is made"
        if step.create_graph
        else "saved values " + ("kept" if step.keep else "freed")
    )
    return visible(f"{method} {step.number_of_pass}{where}: from {roots}{only}; {saved}")


# ---- forward


# The columns that may be shortened, and to how many characters; then those that may be left out on
# a narrow terminal.
FORWARD = {"expression": 12, "inputs": 14, "result": 10, "value": 8, "saved": 8}
SPARE = ("saved", "grad_fn")
BACKWARD = {"of": 12, "to": 12, "upstream": 8, "local": 7, "downstream": 10}


def forward_table(part: list[Forward], options: LayoutOptions) -> Iterator[str]:
    lines = layout.table(
        part,
        {
            "step": lambda s: right(s.number, "dim"),
            "line": lambda s: Cell(s.span.short if s.span else "", "dim", True),
            "expression": lambda s: visible(s.text or s.label),
            "operation": lambda s: s.label,
            "inputs": lambda s: visible(", ".join(s.inputs)),
            "result": result,
            "value": values,
            "grad_fn": grad_fn,
            "saved": lambda s: Cell(visible(saved(s.saved)), "dim"),
        },
        options,
        FORWARD,
        SPARE,
    )
    return (line + "\n" for line in lines)


def result(step: Forward) -> str:
    """Return the variables that hold the results; a result without one is left out, since the row
    shows its expression.
    """
    return visible(", ".join(out.label for out in step.outputs if out.label != step.text))


def values(step: Forward) -> Cell:
    if len(step.outputs) != 1:
        return Cell(f"{len(step.outputs)} results")
    output = step.outputs[0]
    return Cell(f"({output.missing})", "dim") if output.value is None else amount(output.value)


def amount(value: Value | None) -> Cell:
    """Return a value as a cell; an empty one for None."""
    if value is None:
        return Cell("")
    text = short(value)
    return Cell(
        text, "red" if "nan" in text.lower() or "inf" in text.lower() else "", not value.shape
    )


def short(value: Value) -> str:
    """Return "all 1" if all elements are equal; else a short text as in every table."""
    text = numbers.summary(value) if value.numel > 1 else ""
    if text.startswith("all "):
        return text
    return (
        f"{numbers.shape(value)}  {text}".rstrip()
        if value.numel > numbers.SMALL
        else numbers.short(value)
    )


def grad_fn(step: Forward) -> Cell:
    if step.grad_fn is not None:
        return Cell(step.grad_fn)
    return Cell("None" if step.grad_enabled else "None (no_grad)", "dim")


def saved(items: Iterable[Kept]) -> str:
    """Return saved values as text: "a, b: 16 B"."""
    kept = list(items)
    size = sum(item.size for item in kept)
    return (
        ", ".join(item.label for item in kept) + (f": {bytes_text(size)}" if size else "")
        if kept
        else ""
    )


# ---- backward


def backward_table(part: list[Backward | Ended], options: LayoutOptions) -> Iterator[str]:
    """Return the table of backward steps: a row for each edge, and rows for the other events of
    each turn.
    """
    turns = [step for step in part if isinstance(step, Backward)]
    if not turns:
        return
    cells_by_id: dict[int, Cell] = {}
    rows_by_turn = [edge_rows(step, cells_by_id) for step in turns]
    titles = words("step function of upstream local to downstream")
    columns = [
        Column(title, list(cells))
        for title, cells in zip(
            titles,
            zip(*(row for turn_rows in rows_by_turn for row in turn_rows), strict=True),
            strict=True,
        )
    ]
    titles_shown, shown = layout.parts(columns, options, BACKWARD)
    indent = " " * 6
    yield from (line + "\n" for line in titles_shown)
    following = iter(shown)
    for step, turn_rows in zip(turns, rows_by_turn, strict=True):
        for _ in turn_rows:
            yield from (line + "\n" for line in next(following))
        for text, style in remarks(step):
            room = None if options.width is None else options.width - len(indent)
            for line in [text] if room is None else wrap(text, room):
                yield indent + paint(line, style, options) + "\n"


def edge_rows(step: Backward, cells: dict[int, Cell]) -> list[tuple[Cell, ...]]:
    """Return a row for each edge. `cells` caches the cells of values by `id()`, because what a
    function sends is what the next one receives.
    """

    def cell(value: Value | None) -> Cell:
        cached = cells.get(id(value))
        if cached is None:
            cached = cells[id(value)] = amount(value)
        return cached

    left = (right(step.number, "dim"), Cell(step.name), Cell(visible(step.of)), cell(step.upstream))
    blank = (right(""), Cell(""), Cell(""), right(""))
    edges = [
        (
            cell(item.local) if item.local is not None else Cell("·", "dim", True),
            Cell(visible(item.to)),
            cell(item.value),
        )
        for item in step.sent
    ] or [(right(""), Cell(""), right(""))]
    return [(*(left if i == 0 else blank), *edge) for i, edge in enumerate(edges)]


def remarks(step: Backward) -> list[tuple[str, str]]:
    """Describe the other events of a step: the sum, hooks, values that were freed, stored or
    dropped.
    """
    events = []
    total = plus([numbers.short(c.value) for c in step.contributions])
    if total:
        events.append((f"sum: {total}, from {', '.join(c.source for c in step.contributions)}", ""))
    events += [
        (hook_text(hook), "yellow" if hook.changed else "")
        for hook in step.hooks
        if hook.kind != "retain"
    ]
    if not step.ran:
        events.append(("this is autograd.grad's answer", "green"))
    if step.grad_after is not None:
        before = "" if step.grad_before is None else f"{numbers.short(step.grad_before)} + "
        after = numbers.short(step.grad_after)
        added = (
            f"{before}{numbers.short(step.upstream)} = "
            if before and step.upstream is not None
            else ""
        )
        events.append((f"{step.of}.grad = {added}{after}", "green"))
    if any(hook.kind == "retain" for hook in step.hooks):
        events.append((f"{step.of}.grad is kept (retain_grad)", "green"))
    elif step.dropped and step.ran and step.named:
        events.append((f"{step.of}.grad is dropped", "dim"))
    if step.freed:
        events.append((f"freed: {saved(step.freed)}", "dim"))
    return [(visible(text), style) for text, style in events]


def plus(terms: list[str]) -> str:
    """Return a sum as text: "-4 + 8", "2 - 3"."""
    text = terms[0] if terms else ""
    for term in terms[1:]:
        text += f" - {term[1:]}" if term.startswith("-") else f" + {term}"
    return text


def hook_text(hook: HookRun) -> str:
    """Return a run of a hook as text: "node hook clip: 3 -> 1"."""
    kind = {
        "pre": "node prehook",
        "post": "node hook",
        "accumulated": "hook after accumulation",
    }.get(hook.kind, "hook")
    if hook.kind == "accumulated" or hook.before is None or hook.after is None:
        return f"{kind} {hook.name} ran"
    if not hook.changed:
        return f"{kind} {hook.name} ran, changed nothing"
    return f"{kind} {hook.name}: {numbers.short(hook.before)} -> {numbers.short(hook.after)}"


# ---- data


def render(trace: Trace, steps: Iterable[RunStep], format: str) -> Iterator[str]:
    """Yield the steps, piece by piece, in any format except the table."""
    if format == "json":
        yield from json_text(trace, steps)
    elif format == "jsonl":
        head = {"schema": SCHEMA + "/step", "version": rows.VERSION}
        yield from (rows.dumps({**head, **json_fields(step)}) + "\n" for step in steps)
    else:
        yield rows.render(
            COLUMNS, ([rows.cell(fact) for fact in row] for row in text_rows(steps)), format
        )


def json_text(trace: Trace, steps: Iterable[RunStep]) -> Iterator[str]:
    """Yield the JSON document piece by piece."""
    source = {"name": trace.source_name, "text": trace.source_text}
    opening = rows.dumps({"schema": SCHEMA, "version": rows.VERSION, "source": source})
    yield opening[:-1] + ', "steps": ['
    separator = ""
    for step in steps:
        yield separator + rows.dumps(json_fields(step))
        separator = ", "
    yield "]}\n"


# The fields of a step's JSON object: its kind, then those of all steps, then its own.
FIELDS = {
    Forward: ("forward", "operation op inputs outputs grad_fn saved text grad_enabled"),
    Started: ("start", "pass=number_of_pass roots retain_graph=keep create_graph inputs stores"),
    Failed: ("failed", "text inputs exception=kind message"),
    Ended: ("end", "pass=number_of_pass error"),
    Backward: (
        "backward",
        "pass=number_of_pass function=name of tensor upstream contributions sent hooks freed "
        "grad_dropped=dropped grad_before grad_after",
    ),
}


def json_fields(step: RunStep) -> dict[str, Any]:
    """Return the fields of a step's JSON object."""
    kind, names = FIELDS[type(step)]
    span = None if isinstance(step, Ended) else step.span
    fields = {"kind": kind, "step": step.number, **place(span), **rows.fields(step, names)}
    if isinstance(step, Started):
        fields["roots"] = [{"label": label, "vector": vector} for label, vector in step.roots]
    if isinstance(step, Forward):
        fields["saved"] = kept_fields(step.saved)
    if isinstance(step, Backward):
        fields["freed"] = kept_fields(step.freed)
        fields["sent"] = [
            rows.fields(item, "to tensor local downstream=value") for item in step.sent
        ]
        fields["hooks"] = [
            rows.fields(hook, "kind name before after changed") for hook in step.hooks
        ]
    return fields


def kept_fields(items: Iterable[Kept]) -> list[dict[str, Any]]:
    return [rows.fields(item, "name label bytes=size") for item in items]


def place(span: Span | None) -> dict[str, Any]:
    """Return the fields of a step's JSON object that say where it is in the program."""
    file = {"file": span.file} if span is not None and span.file else {}
    return {"line": span, "column": span.column + 1 if span else None, **file}


def text_rows(steps: Iterable[RunStep]) -> Iterator[list[Any]]:
    """Yield a row of COLUMNS for each forward step, and for each edge of a backward step."""
    for step in steps:
        kind, _ = FIELDS[type(step)]
        line = None if isinstance(step, Ended) or step.span is None else step.span.short
        start = [step.number, kind, line]
        blank = [None] * 4
        if isinstance(step, Forward):
            outputs = ", ".join(o.label for o in step.outputs)
            contents = ", ".join(rows.cell(o.value) for o in step.outputs)
            notes = f"saved {saved(step.saved)}" if step.saved else ""
            yield [*start, step.label, outputs, ", ".join(step.inputs), contents, *blank[1:], notes]
        elif isinstance(step, Backward):
            notes = "; ".join(text for text, _ in remarks(step))
            start += [step.name, step.of]
            yield [*start, "", step.grad_after, step.upstream, None, None, notes]
            for item in step.sent:
                yield [*start, item.to, "", step.upstream, item.local, item.value, ""]
        elif isinstance(step, Started):
            yield [
                *start,
                "backward" if step.stores else "autograd.grad",
                "",
                "",
                *blank,
                head(step),
            ]
        elif isinstance(step, Failed):
            yield [
                *start,
                step.text,
                "",
                ", ".join(step.inputs),
                *blank,
                f"{step.kind}: {step.message}",
            ]
        else:
            yield [*start, "", "", "", *blank, step.error]
