"""Find optimisers that hold other tensors than those that the loss depends on."""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.cause import Cause
from gradtrace.analysis.copies import NUMBERS, WRAPPERS, stacked, statements_after
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.terms import assigned_name, named, plain, scopes_of
from gradtrace.analysis.words import folded
from gradtrace.annotations import Any, NamedTuple
from gradtrace.program import syntax as ast
from gradtrace.trace.record import OptimiserRecord, Span

COPIES = ("clone", "detach", "deepcopy", "copy", "new_tensor", "data")


class Container(NamedTuple):
    """An attribute of a module that holds layers or parameters in a plain list or dict."""

    attribute: str
    statement: Any
    is_dict: bool
    of_parameters: bool


def not_held(facts: Facts) -> Cause | None:
    """Find tensors that get gradients but that no optimiser holds, with the reason."""
    stepping = next((optimiser for optimiser in facts.trace.optimisers if optimiser.steps), None)
    roots = {facts.flow.tensor(i) for pass_ in facts.passes for i in pass_.roots}
    covered = roots.union(facts.optimised)
    moved = changed_later(facts)
    loose = [leaf for leaf in facts.stored if leaf not in covered and leaf not in moved]
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
    cause = next((cause for cause in causes if cause is not None), None)
    return (
        None
        if cause is None
        else cause._replace(tensors=frozenset(loose).union(cause.tensors or ()))
    )


def changed_later(facts: Facts) -> set[int]:
    """Return the leaves that were written to after the first pass that stored a gradient."""
    first = facts.storing[0].after if facts.storing else 0
    writes = [
        c for c in facts.trace.changes if not c.of_grad and (c.after > first or c.how == "step")
    ]
    return {leaf for change in writes for leaf in facts.leaves_of(change)}


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


# ---- plain lists and dicts


def containers(facts: Facts) -> list[Container]:
    """Return the plain lists and dicts of layers or parameters that modules of the program have as
    attributes.
    """
    attributes = []
    for cls in facts.text.statements:
        if not isinstance(cls, ast.ClassDef) or not any(
            "Module" in facts.text.cut(b) for b in cls.bases
        ):
            continue
        for node in ast.walk(cls):
            attribute = (
                own_attribute(node.targets[0])
                if isinstance(node, ast.Assign) and len(node.targets) == 1
                else ""
            )
            kind = plain_kind(facts, node.value, cls, attribute) if attribute else None  # type: ignore[attr-defined]
            if kind is not None:
                attributes.append(Container(attribute, node, *kind))
    return attributes


def own_attribute(node: Any) -> str:
    is_own = (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )
    return str(node.attr) if is_own else ""


def plain_kind(facts: Facts, value: Any, cls: Any, attribute: str) -> tuple[bool, bool] | None:
    """Return (it is a dict, it holds parameters); None for anything but a plain container of layers
    or parameters.
    """
    if (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id in ("list", "tuple", "dict")
    ):
        is_dict = value.func.id == "dict"
    elif isinstance(value, (ast.List, ast.ListComp, ast.Tuple, ast.Dict, ast.DictComp)):
        is_dict = isinstance(value, (ast.Dict, ast.DictComp))
    else:
        return None
    texts = [facts.text.cut(value)]
    # self.layers.append(nn.Linear(8, 8)), self.layers["a"] = nn.Linear(8, 8)
    for node in ast.walk(cls):
        if isinstance(node, (ast.Call, ast.Assign)):
            text = facts.text.cut(node)
            if text.startswith(
                (f"self.{attribute}.append(", f"self.{attribute}[", f"self.{attribute}.extend(")
            ):
                texts.append(text)
    joined = " ".join(texts)
    if "Parameter(" in joined or "requires_grad=True" in joined:
        return is_dict, True
    modules = [c.name for c in facts.text.statements if isinstance(c, ast.ClassDef) and c.bases]
    if "nn." in joined or any(f"{name}(" in joined for name in modules):
        return is_dict, False
    return None


def in_container(facts: Facts, loose: list[int], optimiser: OptimiserRecord) -> Cause | None:
    held = ((c, [leaf for leaf in loose if is_in(facts, leaf, c)]) for c in containers(facts))
    holder, inside = next(((c, leaves) for c, leaves in held if leaves), (None, []))
    if holder is None:
        return None
    head = places.head_of(holder.statement)
    noun, kind = ("parameters", "Parameter") if holder.of_parameters else ("layers", "Module")
    container = "dict" if holder.is_dict else "list"
    wrapped = f"nn.{kind}{container.title()}"
    new = f"self.{holder.attribute} = {wrapped}({facts.text.cut(holder.statement.value)})"
    return Cause(
        "plain container",
        f"self.{holder.attribute}{facts.at_line(head)} is a plain {container}, so parameters() "
        f"leaves its {noun} out and the optimiser{facts.at_line(optimiser.span)} does not hold "
        "them",
        (
            facts.at(f"a module does not see {noun} in a plain {container}", head),
            facts.at(
                f"this optimiser holds {optimiser.held} tensors, without them", optimiser.span
            ),
        ),
        (new if len(new) < 74 else f"wrap it: {wrapped}(...)",),
        symptom="1 tensor is never updated"
        if len(inside) == 1
        else f"{len(inside)} tensors are never updated",
    )


def is_in(facts: Facts, leaf: int, container: Container) -> bool:
    """Whether a leaf is in a container by its name; without a name, if it is not an attribute of
    its own.
    """
    name = facts.tensors[leaf].name
    return (
        f".{container.attribute}[" in name if name else not named(facts, leaf).startswith("self.")
    )


# ---- made at another time


def made_later(facts: Facts, loose: list[int], optimiser: OptimiserRecord) -> Cause | None:
    """Return the reason if a module or a tensor was replaced after the optimiser had got its
    parameters.
    """
    assignment = facts.text.statement(optimiser.span)
    if assignment is None:
        return None
    names = [facts.tensors[leaf].name or "" for leaf in loose]
    later = [
        s for s in facts.text.simple if isinstance(s, ast.Assign) and s.lineno > assignment.lineno
    ]
    for statement, target in ((s, facts.text.cut(target)) for s in later for target in s.targets):
        taken = [n for n in names if n == target or n.startswith((target + ".", target + "["))]
        if not taken or not mentions(assignment, target):
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


def mentions(statement: Any, text: str) -> bool:
    """Whether the statement that makes an optimiser names this variable."""
    base = text.partition(".")[0].partition("[")[0]
    return any(isinstance(n, ast.Name) and n.id == base for n in ast.walk(statement))


def copied(facts: Facts, loose: list[int], optimiser: OptimiserRecord) -> Cause | None:
    """Return the reason if an optimiser was given copies of the parameters."""
    call = call_that_makes(facts, optimiser)
    copies = (
        [n for n in ast.walk(call) if isinstance(n, ast.Attribute) and n.attr in COPIES]
        if call
        else []
    )
    inner = [n.id for c in copies for n in ast.walk(c) if isinstance(n, ast.Name)]
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
            tensors=frozenset(map(facts.flow.tensor, optimiser.tensors)),
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
    for cls in facts.text.statements:
        if not isinstance(cls, ast.ClassDef) or not any(
            "Module" in facts.text.cut(b) for b in cls.bases
        ):
            continue
        for node in ast.walk(cls):
            name = own_attribute(node.targets[0]) if isinstance(node, ast.Assign) else ""
            text = facts.text.cut(node.value) if name else ""  # type: ignore[attr-defined]
            taken = (
                [i for i in loose if f"self.{name}" in (named(facts, i), facts.tensors[i].name)]
                if name
                else []
            )
            taken += [i for i in loose if name and began_at(facts, i, node)]
            if not taken or "Parameter(" in text or "requires_grad" not in text:
                continue
            head = places.head_of(node)
            return Cause(
                "other tensors",
                f"self.{name}{facts.at_line(head)} is a tensor, not an nn.Parameter, so "
                f"parameters() leaves it out and the optimiser{facts.at_line(optimiser.span)} does "
                "not hold it",
                (
                    facts.at("a module does not see a plain tensor", head),
                    facts.at(
                        f"this optimiser holds {optimiser.held} tensors, without it", optimiser.span
                    ),
                ),
                (f"self.{name} = nn.Parameter({text.replace(', requires_grad=True', '')})",),
                symptom=f"self.{name} gets gradients and never changes",
            )
    return None


def began_at(facts: Facts, leaf: int, statement: Any) -> bool:
    span = facts.begun.get(leaf)
    return span is not None and not span.file and span.line == statement.lineno


def left_out(facts: Facts, loose: list[int], optimiser: OptimiserRecord) -> Cause | None:
    """Return the reason if an optimiser holds other parts of a model than those that get
    gradients.
    """
    held = [i for i in map(facts.flow.tensor, optimiser.tensors) if i in facts.stored]
    mine = [
        i
        for i in loose
        if facts.tensors[i].is_parameter and base(facts, i) in bases(facts, optimiser)
    ]
    if not mine or len(mine) > max(len(held), len(mine) * (not held)) or optimiser.steps < 2:
        return None
    names = folded([named(facts, i) for i in mine], "parameters")
    own = (
        f"{len(held)} others"
        if held
        else f"{optimiser.held} tensors, none of which gets a gradient"
    )
    return Cause(
        "other tensors",
        f"the optimiser{facts.at_line(optimiser.span)} does not hold "
        f"{'it' if len(mine) == 1 else 'them'}",
        (facts.at(f"this optimiser holds {own}, and not {named(facts, mine[0])}", optimiser.span),),
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


def bases(facts: Facts, optimiser: OptimiserRecord) -> set[str]:
    return {base(facts, i) for i in optimiser.tensors}


def other_tensors(facts: Facts, loose: list[int], optimiser: OptimiserRecord) -> Cause | None:
    """Return the reason if no tensor of an optimiser ever gets a gradient."""
    if (
        not facts.stored.keys().isdisjoint(facts.optimised)
        or optimiser.steps < 2
        or optimiser.idle < optimiser.steps
    ):
        return None
    if not facts.flow.before(facts.roots).isdisjoint(map(facts.flow.tensor, optimiser.tensors)):
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
        tensors=frozenset(map(facts.flow.tensor, optimiser.tensors)),
    )


def call_of(facts: Facts, leaves: list[int]) -> Span | None:
    """Return the place of the outermost module call that uses one of the leaves, else of the
    operation.
    """
    for leaf in leaves:
        for operation in sorted(facts.readers(leaf), key=lambda reader: not reader.grad_enabled)[
            :1
        ]:
            modules = [
                s.span
                for s in scopes_of(facts, operation)
                if s.kind == "module" and s.span is not None
            ]
            return modules[-1] if modules else operation.span
    return None


def base_of(facts: Facts, leaves: list[int]) -> str:
    """Return the variable that some leaves belong to: "target_net"."""
    name = named(facts, leaves[0]).partition(".")[0]
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
