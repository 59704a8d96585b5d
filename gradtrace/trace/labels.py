"""Label tensors by their variable, or by the text of the expression that made them.

Where one expression made several tensors (a call that runs several operators), its result has the
text as label, and the inner tensors have labels such as "relu in <text>". Where the expression ran
again and again (a loop), the labels are numbered. A tensor that no call made, such as a constant,
has the text of the operand where it is first used; one that is trained and that no expression names
is "a parameter of Linear". A tensor that is changed in place keeps its label: `x -= 1` makes
another version of x. A function's argument with the name of another tensor is "x in f".
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Iterable, Mapping, Protocol, Sequence
from gradtrace.engine.operators.tables import function_table
from gradtrace.program import syntax as ast
from gradtrace.trace.operands import parameters, public_name, reading_order
from gradtrace.trace.record import Span

if TYPE_CHECKING:
    from gradtrace.trace.events import Call, Entry


class CalledModules(Protocol):
    """The interface of an object that returns the modules in which a call was made."""

    def called_modules(self, call: Any) -> list[tuple[int, str]]:
        """Return the modules that the call's expression called and that contain the call: numbers
        and names, innermost first.
        """

    def function_of(self, call: Any) -> str:
        """Return the name of the innermost function of the program that a call was made in; ""
        outside of functions.
        """

    def is_inside(self, number: int, call: Any) -> bool:
        """Whether a call was made in the call of a module that has this number."""

    def module_of(self, call: Any) -> str:
        """Return the name of the innermost module that a call was made in, or its class; "" outside
        of modules.
        """


class Texts:
    """A program's text by the numbers of places ("origins"); each place's text is cut out once."""

    root: Any = None  # the program's result
    last = ""  # the text of the program's last statement if it is an expression

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.lines: dict[str, list[bytes]] = {}  # by file
        self.add_file("", text)
        self._excerpts: dict[int, str] = {}
        self._spans: dict[int, Span | None] = {}

    def add_file(self, name: str, text: str) -> None:
        self.lines[name] = text.encode("utf-8", "replace").splitlines()

    def find_span(self, origin: int) -> Span | None:
        raise NotImplementedError

    def span(self, origin: int) -> Span | None:
        """Return the span of source text that `origin` numbers; None for 0."""
        if origin not in self._spans:
            self._spans[origin] = self.find_span(origin)
        return self._spans[origin]

    def excerpt(self, origin: int) -> str:
        """Return the text of the span `origin` on one line; "" for 0."""
        if origin not in self._excerpts:
            self._excerpts[origin] = self.cut(self.span(origin))
        return self._excerpts[origin]

    def is_library(self, origin: int) -> bool:
        """Whether a place is in a file of an installed package."""
        return False

    def cut(self, span: Span | None) -> str:
        return "" if span is None else cut_lines(self.lines[span.file], span)

    def tree(self, file: str) -> Any:
        """Return the syntax tree of a file by its name in spans; None if it is not Python's."""
        return tree_of(b"\n".join(self.lines[file]))


class SourceText(Texts):
    """The text of a program that gradtrace's own engine ran."""

    def __init__(self, run: Any) -> None:
        source = getattr(run.program, "source", "")
        text = source if isinstance(source, str) else source.text
        super().__init__(str(getattr(source, "name", "") or getattr(run.program, "name", "")), text)
        self.root = run.root
        self.spans: Sequence[Any] = run.spans
        self.files = [(file.name, file.text) for file in getattr(run, "sources", ())[1:]]
        for file in self.files:
            self.add_file(*file)

    @property
    def last(self) -> str:  # type: ignore[override]  # parsed when it is asked for
        """The text of the program's last statement if it is an expression, else ""."""
        tree = tree_of(self.text)
        last = tree.body[-1] if tree is not None and tree.body else None
        if not isinstance(last, ast.Expr):
            return ""
        return self.cut(
            Span(last.lineno, last.col_offset, last.end_lineno or 0, last.end_col_offset or 0)
        )

    def find_span(self, origin: int) -> Span | None:
        if not 0 < origin < len(self.spans):
            return None
        span = self.spans[origin]
        if span is None:
            return None
        number = getattr(span, "file", 0)
        file = self.files[number - 1][0] if number else ""
        return Span(span.line, span.column, span.end_line, span.end_column, file)


def cut_text(text: str, span: Span | None) -> str:
    """Return a span of a source text on one line."""
    return cut_lines(text.encode("utf-8", "replace").splitlines(), span)


def cut_lines(source: list[bytes], span: Span | None) -> str:
    if span is None or not 0 < span.line <= span.end_line <= len(source):
        return ""
    # columns count bytes, as ast's do
    lines = source[span.line - 1 : span.end_line]
    lines[-1] = lines[-1][: span.end_column]
    lines[0] = lines[0][span.column :]
    return " ".join(b" ".join(lines).decode("utf-8", "replace").split())


def label_all(
    kept: Sequence[Entry],
    calls: Sequence[Call],
    source: Texts,
    env: Mapping[str, Any],
    gradients: Mapping[int, str],
    scopes: CalledModules,
    former: Mapping[int, str],
    roots: Iterable[Entry] = (),
) -> list[str]:
    """Return the label of every kept entry. `gradients` has the names of gradients ("w.grad") and
    `former` those that variables gave to others later, by id(tensor). Of the `roots` of passes
    those that a library scales have the labels of the program's losses.
    """
    texts = expression_texts(calls, source, scopes)
    constants = constant_texts(kept, calls, texts, source, env, scopes, former)
    texts |= variable_texts(calls, texts, source, scopes)
    texts |= target_texts(calls, source, env)
    losses = {id(scaled): loss for root in roots for scaled, loss in scaled_losses(root, source)}
    for scaled in losses:
        texts.pop(scaled, None)
    labels = numbered_labels(kept, texts, constants, gradients)
    by_entry = {id(entry): label for entry, label in zip(kept, labels, strict=True)}
    return [by_entry[id(losses.get(id(entry), entry))] for entry in kept]


SCALINGS = function_table("trace.labels.SCALINGS", ("mul", "div"))


def scaled_losses(root: Entry, source: Texts) -> list[tuple[Entry, Entry]]:
    """Return what a library made of a loss of the program on the way to a root, by multiplying or
    dividing it by numbers, each with the version of that loss which has its label.
    """
    scaled = []
    loss = root
    while loss.call is not None and source.is_library(loss.call.origin):
        if loss.call.name.rstrip("_") not in SCALINGS or len(loss.call.inputs) != 1:
            return []
        scaled.append(loss)
        (loss,) = loss.call.inputs.values()
    if loss.call is None:
        return []
    last = next(entry for entry in (*scaled, loss) if entry.tensor is loss.tensor)
    return [(entry, entry if entry.tensor is loss.tensor else last) for entry in scaled]


def numbered_labels(
    kept: Sequence[Any],
    texts: dict[int, str],
    constants: dict[int, str],
    gradients: Mapping[int, str],
) -> list[str]:
    """Return the label of every kept entry, from the texts of calls and constants; repeated ones
    are numbered, of the versions of a tensor only the last one.
    """
    first: dict[int, str] = {}  # by id() of the tensor: the label of its first version
    last = {id(entry.tensor): entry for entry in kept}
    plain = []
    for entry in kept:
        text = _label(entry, texts, constants, gradients)
        start = first.setdefault(id(entry.tensor), text)
        is_changed = entry.version and not entry.names and id(entry) not in texts
        plain.append(start if is_changed else text)
    is_result = [
        not entry.names and entry.call is not None and last[id(entry.tensor)] is entry
        for entry in kept
    ]
    counts: dict[str, int] = {}
    for text, own in zip(plain, is_result, strict=True):
        counts[text] = counts.get(text, 0) + own
    numbers: dict[str, int] = {}
    labels = []
    for entry, text, own in zip(kept, plain, is_result, strict=True):
        if not own or counts[text] == 1 or id(entry.tensor) in gradients:
            labels.append(text)
            continue
        numbers[text] = numbers.get(text, 0) + 1
        labels.append(f"{text} #{numbers[text]}")
    return _versioned(kept, labels)


def _label(
    entry: Entry, texts: dict[int, str], constants: dict[int, str], gradients: Mapping[int, str]
) -> str:
    if entry.names:
        return entry.names[0]
    if id(entry.tensor) in gradients:
        return gradients[id(entry.tensor)]
    if entry.call is None:
        return constants.get(id(entry), "constant")
    # what no expression made is the derivative's own operation, under create_graph
    text = texts.get(id(entry), "") or texts.get(id(entry.call), "")
    return text or public_name(entry.call.name)


def _versioned(kept: Sequence[Entry], labels: list[str]) -> list[str]:
    """An overwritten version is called after the tensor's last one."""
    final = {
        id(entry.tensor): label for entry, label in zip(kept, labels, strict=True) if entry.last
    }
    return [
        label if entry.last else f"{final.get(id(entry.tensor), label)} (version {entry.version})"
        for entry, label in zip(kept, labels, strict=True)
    ]


# ---- results


def expression_texts(calls: Sequence[Call], source: Texts, scopes: CalledModules) -> dict[int, str]:
    """Return the label of each call's result, by id(call).

    Consecutive calls with one origin belong to one expression: the text labels the last call, and
    the others are inner steps. If the operators' names repeat as a pattern, the expression ran in a
    loop, and each repetition is treated in this way. An inner step in a module that the expression
    calls is labelled by that module: "net.0 output" for the module's result, else "relu in net.0".
    The program's own code in a module splits the expression, whose result the module's last call
    makes.
    """
    texts: dict[int, str] = {}
    after = [*calls[1:], None]
    start = 0
    while start < len(calls):
        end = start
        while end < len(calls) and calls[end].origin == calls[start].origin:
            end += 1
        text = source.excerpt(calls[start].origin)
        if text:
            every = period([call.name for call in calls[start:end]])
            for i in range(start, end):
                within = module_text(calls[i], after[i], scopes)
                if (i - start + 1) % every == 0 and not goes_on(calls[i], after[i], scopes):
                    texts[id(calls[i])] = text
                else:
                    texts[id(calls[i])] = within or f"{public_name(calls[i].name)} in {text}"
        start = end
    return texts


def variable_texts(
    calls: Sequence[Call], texts: Mapping[int, str], source: Texts, scopes: CalledModules
) -> dict[int, str]:
    """Return the variables of functions that results are assigned to, by id(call); those of the
    program itself still exist.
    """
    variables: dict[str, dict[tuple[Any, ...], str]] = {}  # by file
    names: dict[int, str] = {}
    for call in calls:
        span = source.span(call.origin)
        if span is None or texts.get(id(call)) != source.excerpt(call.origin):
            continue
        if len(call.outputs) > 1 and not gives_first(call.name):
            continue  # a variable that holds a tuple
        if scopes.function_of(call):
            if span.file not in variables:
                variables[span.file] = assigned(source.tree(span.file))
            name = variables[span.file].get(span[:4])
            if name is not None:
                names[id(call)] = name
    return names


def gives_first(name: str) -> bool:
    """Whether the program gets only the first result of an operator: the others are statistics of a
    normalisation or indices of a pooling, which derivatives use.
    """
    return "norm" in name or "pool" in name


def assigned(tree: Any) -> dict[tuple[Any, ...], str]:
    """Return the variable that each assigned expression is assigned to, by the expression's
    span.
    """
    variables: dict[tuple[Any, ...], str] = {}
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
            target = node.target
        else:
            continue
        value: Any = node.value if not isinstance(node, ast.AugAssign) else node
        if value is None or not isinstance(target, (ast.Name, ast.Attribute)):
            continue
        # which gives the tensor that it is called on
        if getattr(getattr(value, "func", None), "attr", "") == "requires_grad_":
            value = value.func.value
        if name := dotted(target):
            place = value.lineno, value.col_offset, value.end_lineno, value.end_col_offset
            variables[place] = name
    return variables


def goes_on(call: Call, following: Call | None, scopes: CalledModules) -> bool:
    """Whether the outermost module that a call's expression called also contains the following
    call.
    """
    own = scopes.called_modules(call)
    return bool(own) and following is not None and scopes.is_inside(own[-1][0], following)


def module_text(call: Call, following: Call | None, scopes: CalledModules) -> str:
    """Return the label of an inner step within a module; "" outside of modules that the expression
    calls.
    """
    own = scopes.called_modules(call)
    ended = [
        name for number, name in own if following is None or not scopes.is_inside(number, following)
    ]
    if ended:
        return f"{ended[-1]} output"
    return f"{public_name(call.name)} in {own[0][1]}" if own else ""


def target_texts(calls: Sequence[Call], source: Texts, env: Mapping[str, Any]) -> dict[int, str]:
    """Return the label of each version that an operation in place made, by id(entry): the text of
    what the operation is called on.
    """
    texts: dict[int, str] = {}
    for call in calls:
        if not call.outputs or not call.outputs[0].version:
            continue
        text = source.excerpt(call.origin)
        target = target_of(text, env)
        changed = [target]
        if isinstance(target, ast.Subscript):
            # a write to a view makes a new version of its base; PyTorch's x[0] = 1 writes to x
            is_item = ast.get_source_segment(text, target) == text
            is_base = is_item and len(call.outputs) == 1
            changed = [target.value] if is_base else [target, target.value]
        for entry, node in zip(call.outputs, changed, strict=False):
            if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
                texts[id(entry)] = ast.get_source_segment(text, node) or ""
    return texts


def target_of(text: str, env: Mapping[str, Any]) -> Any:
    """Return what an operation in place changes, as a syntax tree: x of `x -= 1` and `x.sub_(1)`,
    x[0] of `x[0] = 1`; None if the text does not say it.
    """
    statement = syntax_of(text)
    node = getattr(statement, "target", None) or getattr(statement, "value", None)
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if not node.func.attr.endswith("_"):
            return None
        is_function = _is_module(node.func.value, env)
        node = node.args[0] if is_function and node.args else node.func.value
    return node


def syntax_of(text: str) -> Any:
    """Return the syntax tree of a text that is one statement; None for any other text."""
    tree = tree_of(text)
    return tree.body[0] if tree is not None and len(tree.body) == 1 else None


def tree_of(text: str | bytes) -> Any:
    """Return the syntax tree of a text; None if it is not Python's."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def dotted(node: Any) -> str:
    """Return the dotted name that an expression is: "w" or "m.weight"; "" for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def period(names: list[str]) -> int:
    """Return the length of the shortest pattern that `names` is a repetition of."""
    total = len(names)
    for length in range(1, total // 2 + 1):
        if total % length == 0 and all(names[i] == names[i - length] for i in range(length, total)):
            return length
    return total


# ---- constants

UNNAMED = "a leaf without a name"


def constant_texts(
    kept: Sequence[Entry],
    calls: Sequence[Call],
    texts: dict[int, str],
    source: Texts,
    env: Mapping[str, Any],
    scopes: CalledModules,
    former: Mapping[int, str],
) -> dict[int, str]:
    """Return the label of each unnamed tensor that no call made, by id(entry): the text of the
    first operand that it is. A leaf that requires grad and is not an operand of an expression is a
    parameter of the module that reads it, if it has no name in `former`, by id(tensor).
    """
    wanted = {id(entry) for entry in kept if entry.call is None and not entry.names}
    taken = {name for entry in kept for name in entry.names}
    labels: dict[int, str] = {}
    for call in calls if wanted else ():
        text = source.excerpt(call.origin)
        if texts.get(id(call)) != text and called_by(text) not in COMPOSED:
            continue
        arguments = flat(call.args)
        used: list[tuple[Any, Entry]] = [
            (i, call.inputs[id(value)])
            for i, value in (*enumerate(arguments), *call.kwargs.items())
            if id(value) in call.inputs
        ]
        unknown = [
            (i, entry) for i, entry in used if id(entry) in wanted and id(entry) not in labels
        ]
        if not unknown or called_by(text) in DERIVING:
            continue
        if scopes.called_modules(call):
            written = dict(enumerate(operand_texts(text, env)[-1:]))
            unknown = module_input(used, list(written.values()))
        else:
            written = operands_at(call, text, env, used)
        function = scopes.function_of(call)
        for i, entry in unknown:
            operand = written.get(i, "")
            # the 0.5 of dropout(x, 0.5) is not the mask that it multiplies by
            if operand and not (entry.tensor.ndim and is_number(operand)):
                is_other = bool(function) and operand in taken
                labels[id(entry)] = f"{operand} in {function}" if is_other else operand
    for entry in kept:
        # "2+3" is a number, made a tensor afterwards
        if id(entry) in wanted and entry.tensor is source.root:
            labels.setdefault(id(entry), source.last)
    unnamed = {
        id(entry)
        for entry in kept
        if id(entry) in wanted and getattr(entry, "requires_grad", False) and entry.fn is None
    }
    unnamed -= {entry for entry, text in labels.items() if text}
    for call in calls if unnamed else ():
        for entry in call.inputs.values():
            if id(entry) in unnamed:
                unnamed.remove(id(entry))
                owner = scopes.module_of(call) if entry.is_parameter else ""
                unknown_name = f"a parameter of {owner}" if owner else UNNAMED
                labels[id(entry)] = former.get(id(entry.tensor), unknown_name)
    labels.update(dict.fromkeys(unnamed, UNNAMED))
    return {entry: text for entry, text in labels.items() if text}


def module_input(used: list[tuple[Any, Any]], written: list[str]) -> list[tuple[Any, Any]]:
    """Return the operand of a module's operator that is the module's input, as number 0; [] if it
    is not the only one beside the parameters (and their transposes). The other operands are not in
    the expression.
    """
    inputs = [entry for _, entry in used if not is_parameter(entry) or written == entry.names[:1]]
    return [
        (0, entry) for entry in inputs if len(inputs) == 1 and not entry.call and not entry.names
    ]


def is_parameter(entry: Any) -> bool:
    """Whether a tensor is a module's parameter, or made of such alone by one operator."""
    sources = entry.call.inputs.values() if entry.call else [entry]
    return all(source.is_parameter for source in sources)


def operand_texts(text: str, env: Mapping[str, Any]) -> list[str]:
    """Return the texts of an expression's operands: of `a + 1` a and 1, of `x.mul(2)` x and 2, of
    `torch.cat([a, b])` a, b.

    `env` tells modules (`torch.where`) from tensors (`x.where`).
    """
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    parts: list[ast.expr] = []
    if isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
    elif isinstance(node, ast.Call):
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        parts = [*([owner] if owner is not None and not _is_module(owner, env) else []), *node.args]
        parts = [
            element
            for part in parts
            for element in (part.elts if isinstance(part, (ast.List, ast.Tuple)) else [part])
        ]
    return [ast.get_source_segment(text, part) or "" for part in parts]


def operands_at(
    call: Call, text: str, env: Mapping[str, Any], used: Sequence[tuple[Any, Entry]]
) -> dict[Any, str]:
    """Return the texts of a call's arguments in its expression, by position or keyword.

    A function that runs an operator of another name has its arguments in another order: then only
    one that can be no other is known, where one tensor (of those `used`) and one text are left.
    """
    node = getattr(syntax_of(text), "value", None)
    written = operand_texts(text, env)
    if isinstance(node, (ast.Subscript, ast.Attribute)):
        written = [ast.get_source_segment(text, node.value) or ""]
    if not isinstance(node, ast.Call):
        return dict(zip(reading_order(call.name, call.args), written))
    called = called_by(text)
    operator = public_name(call.name)
    if called in COMPOSED:
        places = COMPOSED[called].get(operator, ())
        return {i: written[place] for i, place in enumerate(places) if place < len(written)}
    if called == "apply" and written and written[0].rpartition(".")[2] == call.name:
        written = written[1:]
    elif operator.rstrip("_") != called.rstrip("_"):
        arguments = [argument for argument in node.args if not isinstance(argument, ast.Constant)]
        owner = getattr(node.func, "value", None)
        if isinstance(owner, ast.Call):  # of a method
            arguments.append(owner)
        names = {name for _, entry in used for name in entry.names}
        left = {ast.get_source_segment(text, argument) or "" for argument in arguments} - names
        unknown = [i for i, entry in used if not entry.names and entry.call is None]
        return dict(zip(unknown, left)) if len(left) == len(unknown) == 1 else {}
    by_name = {
        word.arg: ast.get_source_segment(text, word.value) or ""
        for word in node.keywords
        if word.arg
    }
    # PyTorch's functions call "input" what its methods and the records call "self"
    order = [
        "input" if name == "self" else name for name in parameters(call.name, len(call.args))[0]
    ]
    at = {order.index(name): operand for name, operand in by_name.items() if name in order}
    return dict(enumerate(written)) | at | by_name


# What runs operations of its own: their operands are not its arguments.
DERIVING = (
    "backward",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "vhp",
    "vjp",
)


# Which arguments of functions without an operator of their own the operands of their operators are.
COMPOSED = {
    "linear": function_table(
        "trace.labels.linear", {"t": (1,), "addmm": (2, 0), "mm": (0,), "linear": (0, 1, 2)}
    )
}


def called_by(text: str) -> str:
    """Return the name of the function that an expression calls last: "mean" of f(x).mean()."""
    depth = 0
    for i in reversed(range(len(text))):
        depth += (text[i] == ")") - (text[i] == "(")
        if text[i] == "(" and depth == 0:
            return text[:i].rpartition(".")[2]
    return text.rpartition(".")[2]


def flat(values: Sequence[Any]) -> list[Any]:
    """Return values with those in lists and tuples in place of these."""
    sequences = (list, tuple)
    return [item for v in values for item in (v if isinstance(v, sequences) else [v])]


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_module(node: ast.expr, env: Mapping[str, Any]) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and type(env.get(node.id)).__name__ == "module"
