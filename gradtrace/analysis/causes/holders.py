"""Find optimisers that hold other tensors than those that the loss depends on."""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.cause import Cause
from gradtrace.analysis.copies import NUMBERS, WRAPPERS, names_in, stacked, statements_after
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.ledger.book import ledger_of
from gradtrace.analysis.terms import assigned_name, named, place_text, plain, scopes_of
from gradtrace.analysis.words import folded
from gradtrace.annotations import Any, Iterator
from gradtrace.program import syntax as ast
from gradtrace.trace.record import OptimiserRecord, Span

COPIES = ("clone", "detach", "deepcopy", "copy", "new_tensor", "data")


def not_held(facts: Facts) -> Cause | None:
    """Find tensors that get gradients but that no optimiser holds, with the reason."""
    stepping = next((optimiser for optimiser in facts.trace.optimisers if optimiser.steps), None)
    roots = set(map(facts.flow.tensor, facts.begins))
    loose = [
        entry.leaf
        for entry in ledger_of(facts).parameters.values()
        if entry.gradients and not (entry.holders or entry.updates or entry.writes)
    ]
    loose = [leaf for leaf in loose if leaf not in roots and not is_cut_off(facts, leaf)]
    if stepping is None or not loose:
        return None
    asked = (
        in_container,
        made_later,
        copied,
        made_of_numbers,
        not_a_parameter,
        left_out,
        other_tensors,
    )
    causes = (ask(facts, loose, stepping) for ask in asked)
    cause = next(filter(None, causes), None)
    return cause and cause._replace(tensors=frozenset(loose).union(cause.tensors or ()))


def is_cut_off(facts: Facts, leaf: int) -> bool:
    """Whether a leaf was made from a result of what is trained: `nn.Parameter(layer(x))`. Then the
    cut is what is wrong.
    """
    cut = facts.flow.cut_before(leaf)
    if cut is None or facts.tensors[cut.tensor].operation is None:
        return False
    return not facts.flow.before([cut.tensor]).isdisjoint(facts.optimised)


def never_change(facts: Facts, leaves: list[int]) -> str:
    """Return "a, b and 3 more never change"."""
    names = [named(facts, leaf) for leaf in leaves]
    few = [name for name in names if len(name) < 40][:3]
    more = len(names) - len(few)
    text = (
        ", ".join(few) + (f" and {more} more" if more and few else "")
        if few
        else f"{len(names)} tensors"
    )
    return f"{text} never change{'s' if len(leaves) == 1 else ''}"


def attributes(facts: Facts) -> Iterator[tuple[Any, Any, str]]:
    """Yield the assignments to attributes in modules of the program: the class, the statement, and
    the attribute ("self.layers").
    """
    for cls in facts.text.statements:
        if isinstance(cls, ast.ClassDef) and any("Module" in facts.text.cut(b) for b in cls.bases):
            for node in ast.walk(cls):
                target = node.targets[0] if isinstance(node, ast.Assign) else None
                name = place_text(target, ast.Store)
                if name.startswith("self."):
                    yield cls, node, name


# ---- plain lists and dicts


def in_container(facts: Facts, loose: list[int], optimiser: OptimiserRecord) -> Cause | None:
    """Return the reason if layers or parameters are in a plain list or dict of a module."""
    for cls, statement, name in attributes(facts):
        container = container_of(facts, statement.value)
        noun = contents(facts, cls, statement, name) if container else ""
        inside = [leaf for leaf in loose if is_in(facts, leaf, name)] if noun else []
        if not inside:
            continue
        head = places.head_of(statement)
        kind = "Parameter" if noun == "parameters" else "Module"
        wrapped = f"nn.{kind}{container.title()}"
        new = f"{name} = {wrapped}({facts.text.cut(statement.value)})"
        return Cause(
            "plain container",
            f"{name}{facts.at_line(head)} is a plain {container}, so parameters() "
            f"leaves its {noun} out and the optimiser{facts.at_line(optimiser.span)} does not hold "
            "them",
            (
                facts.at(f"a module does not see {noun} in a plain {container}", head),
                facts.at(
                    f"this optimiser holds {optimiser.held} tensors, without them", optimiser.span
                ),
            ),
            (new if len(new) < 74 else f"wrap it: {wrapped}(...)",),
            symptom=f"{len(inside)} tensor{'s are' if len(inside) > 1 else ' is'} never updated",
        )
    return None


def container_of(facts: Facts, value: Any) -> str:
    """Return "list" or "dict" for the text of a plain container, "" for any other value."""
    call = facts.text.cut(value.func) if isinstance(value, ast.Call) else ""
    kind = call or type(value).__name__.lower().removesuffix("comp")
    return {"list": "list", "tuple": "list", "dict": "dict"}.get(kind, "")


def contents(facts: Facts, cls: Any, statement: Any, name: str) -> str:
    """Return "parameters" or "layers", which the program puts into an attribute's container; ""
    for anything else.
    """
    # self.layers.append(nn.Linear(8, 8)), self.layers["a"] = nn.Linear(8, 8)
    starts = (f"{name}.append(", f"{name}[", f"{name}.extend(")
    nodes = (node for node in ast.walk(cls) if isinstance(node, (ast.Call, ast.Assign)))
    added = (text for text in map(facts.text.cut, nodes) if text.startswith(starts))
    joined = " ".join((facts.text.cut(statement.value), *added))
    if "Parameter(" in joined or "requires_grad=True" in joined:
        return "parameters"
    modules = [c.name for c in facts.text.statements if isinstance(c, ast.ClassDef) and c.bases]
    return "layers" if any(f"{name}(" in joined for name in modules) or "nn." in joined else ""


def is_in(facts: Facts, leaf: int, attribute: str) -> bool:
    """Whether a leaf is in a container by its name; without a name, if it is not an attribute of
    its own.
    """
    name = facts.tensors[leaf].name
    if name:
        return f"{attribute.removeprefix('self')}[" in name
    return not named(facts, leaf).startswith("self.")


# ---- made at another time


def made_later(facts: Facts, loose: list[int], optimiser: OptimiserRecord) -> Cause | None:
    """Return the reason if a module or a tensor was replaced after the optimiser had got its
    parameters.
    """
    assignment = facts.text.statement(optimiser.span)
    if assignment is None:
        return None
    names = [facts.tensors[leaf].name or "" for leaf in loose]
    held = names_in(assignment)
    later = [
        s for s in facts.text.simple if isinstance(s, ast.Assign) and s.lineno > assignment.lineno
    ]
    for statement, target in ((s, facts.text.cut(target)) for s in later for target in s.targets):
        taken = [n for n in names if n == target or n.startswith((target + ".", target + "["))]
        if not taken or target.partition(".")[0].partition("[")[0] not in held:
            continue
        head = places.head_of(statement)
        base = assigned_name(facts, optimiser.span) or "the optimiser"
        return Cause(
            "stale optimiser",
            f"{base} was made{facts.at_line(optimiser.span)}, before line {head.line} replaced "
            f"{target}, so the optimiser still holds the old tensors and not {taken[0]}",
            (
                facts.at("this optimiser holds the tensors of this moment", optimiser.span),
                facts.at(f"{target} is replaced here", head),
            ),
            (f"make the optimiser after line {head.line}: {facts.text.cut(assignment)}",),
            symptom=never_change(facts, loose),
        )
    return None


def copied(facts: Facts, loose: list[int], optimiser: OptimiserRecord) -> Cause | None:
    """Return the reason if an optimiser was given copies of the parameters."""
    call = call_that_makes(facts, optimiser)
    nodes = () if call is None else ast.walk(call)
    copies = [n for n in nodes if isinstance(n, ast.Attribute) and n.attr in COPIES]
    inner = [name for copy in copies for name in names_in(copy)]
    taken = [n for leaf in loose if (n := named(facts, leaf)).partition(".")[0] in inner]
    if not taken:
        return None
    return Cause(
        "other tensors",
        f"the optimiser{facts.at_line(optimiser.span)} holds a copy of {taken[0]}, made by "
        f"{copies[-1].attr}(), not {taken[0]} itself",
        (facts.at(f"the steps change the copy; the loss depends on {taken[0]}", optimiser.span),),
        (f"give it the tensor itself: [{', '.join(dict.fromkeys(taken))}]",),
        symptom=never_change(facts, loose),
    )


def made_of_numbers(facts: Facts, loose: list[int], optimiser: OptimiserRecord) -> Cause | None:
    """Return the reason if backward ends at a new leaf that was made of the numbers of other
    tensors.
    """
    if not facts.stored.keys().isdisjoint(facts.optimised):
        return None
    for leaf in loose:
        span = facts.begun.get(leaf)
        statement = facts.text.statement(span)
        source = next(
            (
                t
                for t in map(facts.tensors.__getitem__, numbers_in(facts, statement))
                if t.requires_grad
            ),
            None,
        )
        if statement is None or source is None:
            continue
        return Cause(
            "copied",
            f"{facts.root_names()} is made from the numbers of "
            f"{plain(source.label)}{facts.at_line(span)}, a copy without history",
            (
                facts.at("a new leaf is made of the numbers alone: the graph ends here", span),
                facts.origin(source),
            ),
            (
                stacked(facts, statement)
                or "sum the tensors themselves: torch.stack(losses).mean(), sum(losses)",
            ),
            symptom="nothing that the optimiser holds is updated",
            tensors=facts.held_by(optimiser),
        )
    return None


def numbers_in(facts: Facts, statement: Any) -> list[int]:
    """Return the tensors whose values became numbers in a statement, or in one that it reads
    from.
    """
    call = places.method_call(statement, WRAPPERS)
    escapes = [e for e in facts.trace.escapes if e.how in NUMBERS] if call else []
    return [
        e.tensor
        for e in escapes
        if e.tensor is not None
        and (taken := facts.text.statement(e.span)) is not None
        and statement in statements_after(facts, taken)
    ]


def not_a_parameter(facts: Facts, loose: list[int], optimiser: OptimiserRecord) -> Cause | None:
    """Return the reason if a module has a tensor that requires grad as an attribute, where a
    Parameter was meant.
    """
    for _, statement, name in attributes(facts):
        text = facts.text.cut(statement.value)
        if "Parameter(" in text or "requires_grad" not in text:
            continue
        if not any(
            name in (named(facts, i), facts.tensors[i].name)
            or facts.text.statement(facts.begun.get(i)) is statement
            for i in loose
        ):
            continue
        head = places.head_of(statement)
        return Cause(
            "other tensors",
            f"{name}{facts.at_line(head)} is a tensor, not an nn.Parameter, so "
            f"parameters() leaves it out and the optimiser{facts.at_line(optimiser.span)} does "
            "not hold it",
            (
                facts.at("a module does not see a plain tensor", head),
                facts.at(
                    f"this optimiser holds {optimiser.held} tensors, without it", optimiser.span
                ),
            ),
            (f"{name} = nn.Parameter({text.replace(', requires_grad=True', '')})",),
            symptom=f"{name} gets gradients and never changes",
        )
    return None


def left_out(facts: Facts, loose: list[int], optimiser: OptimiserRecord) -> Cause | None:
    """Return the reason if an optimiser holds other parts of a model than those that get
    gradients.
    """
    held = facts.stored.keys() & facts.held_by(optimiser)
    bases = {base(facts, i) for i in optimiser.tensors}
    mine = [i for i in loose if facts.tensors[i].is_parameter and base(facts, i) in bases]
    if not mine or len(mine) > max(len(held), len(mine) * (not held)) or optimiser.steps < 2:
        return None
    names = folded([named(facts, i) for i in mine], "parameters")
    own = f"{optimiser.held} tensors" + ("" if held else ", none of which gets a gradient")
    first = named(facts, mine[0])
    evidence = [facts.at(f"this optimiser holds {own}, and not {first}", optimiser.span)]
    span = facts.tensors[facts.tensors[mine[0]].first].span or facts.begun.get(mine[0])
    if span is not None and span != optimiser.span:
        evidence.append(facts.at(f"{first} is made here", span))
    return Cause(
        "other tensors",
        f"the optimiser{facts.at_line(optimiser.span)} does not hold "
        f"{'it' if len(mine) == 1 else 'them'}",
        evidence,
        (
            "give the optimiser these too, and make it after everything that adds or replaces "
            "parameters",
            "or requires_grad_(False) for what is not to be trained",
        ),
        symptom=f"{names} get{'s' * (len(mine) == 1)} gradients and never "
        f"change{'s' * (len(mine) == 1)}",
    )


def base(facts: Facts, leaf: int) -> str:
    return named(facts, leaf).partition(".")[0]


def other_tensors(facts: Facts, loose: list[int], optimiser: OptimiserRecord) -> Cause | None:
    """Return the reason if no tensor of an optimiser ever gets a gradient."""
    if (
        not facts.stored.keys().isdisjoint(facts.optimised)
        or optimiser.steps < 2
        or optimiser.idle < optimiser.steps
    ):
        return None
    if not facts.flow.before(facts.roots).isdisjoint(facts.held_by(optimiser)):
        return None  # the loss depends on them, and something cuts their gradients off
    used = call_of(facts, loose)
    source = base_of(facts, loose)
    own = held_text(facts, optimiser)
    roots = facts.root_names()
    evidence = [facts.at(f"this optimiser holds {own}", optimiser.span)]
    if used is not None:
        evidence.append(facts.at(f"{source} is used here", used))
    return Cause(
        "other tensors",
        f"{roots} is computed from {source}{facts.at_line(used)}, and does not depend on {own}, "
        f"which the optimiser{facts.at_line(optimiser.span)} holds",
        evidence,
        (
            f"compute {roots} with {own} instead of {source}",
            f"or give the optimiser {source}'s tensors",
        ),
        symptom="nothing that the optimiser holds is updated",
        tensors=facts.held_by(optimiser),
    )


def call_of(facts: Facts, leaves: list[int]) -> Span | None:
    """Return the place of the outermost module call that uses one of the leaves, else of the
    operation.
    """
    readers = [reader for leaf in leaves for reader in facts.readers(leaf)]
    if not readers:
        return None
    reader = min(readers, key=lambda reader: not reader.grad_enabled)
    modules = [s.span for s in scopes_of(facts, reader) if s.kind == "module" and s.span]
    return modules[-1] if modules else reader.span


def base_of(facts: Facts, leaves: list[int]) -> str:
    """Return the variable that some leaves belong to: "target_net"."""
    name = base(facts, leaves[0])
    return name if len(name) < 30 and facts.text.assignments(name) else "other tensors"


def call_that_makes(facts: Facts, optimiser: OptimiserRecord) -> Any:
    statement = facts.text.statement(optimiser.span)
    return None if statement is None else places.optimiser_call(facts.text, statement)


def held_text(facts: Facts, optimiser: OptimiserRecord) -> str:
    """Return the parameters given to an optimiser as the program writes them: "q_net"."""
    call = call_that_makes(facts, optimiser)
    text = (
        facts.text.cut(call.args[0]).removesuffix(".parameters()")
        if call is not None and call.args
        else ""
    )
    return text if text and len(text) < 30 else "its own tensors"
