"""Find optimisers that hold other tensors than those that the loss depends on."""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.answer import Facts
from gradtrace.analysis.causes.cause import Cause, at_line, named, scopes_of
from gradtrace.analysis.causes.loops import assigned_name
from gradtrace.annotations import Any, NamedTuple
from gradtrace.lang import syntax as ast
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
    stepping = [one for one in facts.trace.optimisers if one.steps]
    if not stepping:
        return None
    held = {facts.flow.tensor(i) for one in facts.trace.optimisers for i in one.tensors}
    trained = facts.stored
    roots = {facts.flow.tensor(i) for one in facts.trace.passes for i in one.roots}
    loose = [
        leaf for leaf in trained if leaf not in roots and leaf not in held and not facts.trace.tensors[leaf].version
    ]
    if not loose:
        return None
    for ask in (in_container, made_later, copied, other_tensors):
        found = ask(facts, loose, stepping[0], held & set(trained))
        if found is not None:
            return found
    return None


def names_of(facts: Facts, leaves: list[int]) -> str:
    names = [named(facts, leaf) for leaf in leaves]
    few = [name for name in names if len(name) < 40][:3]
    more = len(names) - len(few)
    return ", ".join(few) + (f" and {more} more" if more and few else "") if few else f"{len(names)} tensors"


# ---- plain lists and dicts


def containers(facts: Facts) -> list[Container]:
    """Return the plain lists and dicts of layers or parameters that modules of the program have as attributes."""
    found = []
    for cls in facts.text.statements:
        if not isinstance(cls, ast.ClassDef) or not any("Module" in facts.text.cut(b) for b in cls.bases):
            continue
        for node in ast.walk(cls):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and own_attribute(node.targets[0]):
                kind = plain_kind(facts, node.value, cls, own_attribute(node.targets[0]))
                if kind is not None:
                    found.append(Container(own_attribute(node.targets[0]), node, *kind))
    return found


def own_attribute(node: Any) -> str:
    is_own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return str(node.attr) if is_own else ""


def plain_kind(facts: Facts, value: Any, cls: Any, attribute: str) -> tuple[bool, bool] | None:
    """Return (it is a dict, it holds parameters); None for anything but a plain container of layers or parameters."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("list", "tuple", "dict"):
        is_dict = value.func.id == "dict"
    elif isinstance(value, (ast.List, ast.ListComp, ast.Tuple, ast.Dict, ast.DictComp)):
        is_dict = isinstance(value, (ast.Dict, ast.DictComp))
    else:
        return None
    texts = [facts.text.cut(value)]
    for node in ast.walk(cls):  # self.layers.append(nn.Linear(8, 8)), self.layers["a"] = nn.Linear(8, 8)
        if isinstance(node, (ast.Call, ast.Assign)):
            text = facts.text.cut(node)
            if text.startswith((f"self.{attribute}.append(", f"self.{attribute}[", f"self.{attribute}.extend(")):
                texts.append(text)
    joined = " ".join(texts)
    if "Parameter(" in joined or "requires_grad=True" in joined:
        return is_dict, True
    modules = [c.name for c in facts.text.statements if isinstance(c, ast.ClassDef) and c.bases]
    if "nn." in joined or any(f"{name}(" in joined for name in modules):
        return is_dict, False
    return None


def in_container(facts: Facts, loose: list[int], optimiser: OptimiserRecord, both: set[int]) -> Cause | None:
    names = [facts.trace.tensors[leaf].name for leaf in loose]
    one = next((c for c in containers(facts) if any(not name or f".{c.attribute}[" in name for name in names)), None)
    if one is None:
        return None
    head = places.head_of(one.statement)
    what = "parameters" if one.of_parameters else "layers"
    kind = ("Parameter" if one.of_parameters else "Module") + ("Dict" if one.is_dict else "List")
    value = facts.text.cut(one.statement.value)
    new = f"self.{one.attribute} = nn.{kind}({value})"
    return Cause(
        "plain container",
        f"{len(loose)} tensors are never updated",
        f"self.{one.attribute}{at_line(head)} is a plain {'dict' if one.is_dict else 'list'}, so parameters() leaves "
        f"its {what} out and the optimiser{at_line(optimiser.span)} does not hold them",
        head,
        (
            facts.at(f"a module does not see {what} in a plain {'dict' if one.is_dict else 'list'}", head),
            facts.at(f"this optimiser holds {optimiser.held} tensors, without them", optimiser.span),
        ),
        (new if len(new) < 74 else f"wrap it: nn.{kind}(...)",),
        frozenset(loose),
    )


# ---- made at another time


def made_later(facts: Facts, loose: list[int], optimiser: OptimiserRecord, both: set[int]) -> Cause | None:
    """Return the reason if a module or a tensor was replaced after the optimiser had got its parameters."""
    made = facts.text.statement(optimiser.span)
    if made is None:
        return None
    names = [facts.trace.tensors[leaf].name or "" for leaf in loose]
    for statement in facts.text.simple:
        if not isinstance(statement, ast.Assign) or statement.lineno <= made.lineno:
            continue
        for target in statement.targets:
            text = facts.text.cut(target)
            taken = [n for n in names if n == text or n.startswith((text + ".", text + "["))]
            if not taken or not mentions(facts, made, text):
                continue
            head, base = places.head_of(statement), assigned_name(facts, optimiser.span) or "the optimiser"
            return Cause(
                "stale optimiser",
                f"{names_of(facts, loose)} never change{'s' if len(loose) == 1 else ''}",
                f"{base} was made{at_line(optimiser.span)}, before line {head.line} replaced {text}, so the optimiser "
                f"still holds the old tensors and not {taken[0]}",
                head,
                (
                    facts.at("this optimiser holds the tensors of this moment", optimiser.span),
                    facts.at(f"{text} is replaced here", head),
                ),
                (f"make the optimiser after line {head.line}: {facts.text.cut(made)}",),
                frozenset(loose),
            )
    return None


def mentions(facts: Facts, made: Any, text: str) -> bool:
    """Whether the statement that makes an optimiser names this variable."""
    base = text.partition(".")[0].partition("[")[0]
    return any(isinstance(n, ast.Name) and n.id == base for n in ast.walk(made))


def copied(facts: Facts, loose: list[int], optimiser: OptimiserRecord, both: set[int]) -> Cause | None:
    """Return the reason if an optimiser was given copies of the parameters."""
    made = facts.text.statement(optimiser.span)
    call = None if made is None else places.optimiser_call(facts.text, made)
    if call is None:
        return None
    copies = [n for n in ast.walk(call) if isinstance(n, ast.Attribute) and n.attr in COPIES]
    inner = [n.id for c in copies for n in ast.walk(c) if isinstance(n, ast.Name)]
    names = [named(facts, leaf) for leaf in loose]
    taken = [n for n in names if n.partition(".")[0] in inner]
    if not taken:
        return None
    return Cause(
        "other tensors",
        f"{names_of(facts, loose)} never change{'s' if len(loose) == 1 else ''}",
        f"the optimiser{at_line(optimiser.span)} holds a copy of {taken[0]}, made by {copies[-1].attr}(), not "
        f"{taken[0]} itself",
        optimiser.span,
        (facts.at(f"the steps change the copy; the loss depends on {taken[0]}", optimiser.span),),
        (f"give it the tensor itself: [{', '.join(dict.fromkeys(taken))}]",),
        frozenset(loose),
    )


def other_tensors(facts: Facts, loose: list[int], optimiser: OptimiserRecord, both: set[int]) -> Cause | None:
    """Return the reason if no tensor of an optimiser ever gets a gradient."""
    if both or optimiser.steps < 2 or optimiser.idle < optimiser.steps:
        return None
    used = call_of(facts, loose)
    source = base_of(facts, loose)
    own = held_text(facts, optimiser)
    roots = facts.root_names()
    evidence = [facts.at(f"this optimiser holds {own}", optimiser.span)]
    if used is not None:
        evidence.append(facts.at(f"{source} is used here", used))
    return Cause(
        "other tensors",
        "nothing that the optimiser holds is updated",
        f"{roots} is computed from {source}{at_line(used)}, and does not depend on {own}, which the optimiser"
        f"{at_line(optimiser.span)} holds",
        used or optimiser.span,
        tuple(evidence),
        (f"compute {roots} with {own} instead of {source}", f"or give the optimiser {source}'s tensors"),
        frozenset({*loose, *map(facts.flow.tensor, optimiser.tensors)}),
    )


def call_of(facts: Facts, leaves: list[int]) -> Span | None:
    """Return the place of the outermost module call that uses one of the leaves, else of the operation."""
    for leaf in leaves:
        reading = [facts.trace.operations[index] for index in facts.flow.readers.get(leaf, ())]
        for operation in sorted(reading, key=lambda one: not one.grad_enabled)[:1]:
            modules = [s.span for s in scopes_of(facts, operation) if s.kind == "module" and s.span is not None]
            return modules[-1] if modules else operation.span
    return None


def base_of(facts: Facts, leaves: list[int]) -> str:
    """Return the variable that some leaves belong to: "target_net"."""
    names = [named(facts, leaf).partition(".")[0] for leaf in leaves]
    return names[0] if len(names[0]) < 30 else "other tensors"


def held_text(facts: Facts, optimiser: OptimiserRecord) -> str:
    """Return the parameters given to an optimiser as the program writes them: "q_net"."""
    made = facts.text.statement(optimiser.span)
    call = None if made is None else places.optimiser_call(facts.text, made)
    if call is None or not call.args:
        return "its own tensors"
    text = facts.text.cut(call.args[0]).removesuffix(".parameters()")
    return text if len(text) < 30 else "its own tensors"
