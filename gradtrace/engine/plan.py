"""An operator's derivatives, and what its nodes keep and run for one set of arguments that require grad."""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, NamedTuple

Rule = Callable[..., Any]
DROP, SAVE, META = 0, 1, 2  # what is kept of an argument: nothing, itself, its shape and dtype


class Derivative(NamedTuple):
    needs: tuple[str, ...]
    rule: Rule
    traced: Rule


def d(needs: str, rule: Rule, traced: Rule | None = None) -> Derivative:
    """A derivative: the names it needs kept, and the rule.

    `traced` replaces the rule in a recorded pass, where PyTorch shows one operator for what is several steps here, and
    a call of that operator would be slower on plain numbers.
    """
    return Derivative(tuple(needs.split()), rule, traced or rule)


class Plan:
    """What a node keeps and which rules it runs, for one set of arguments that require grad."""

    __slots__ = (
        "actions",
        "keeps",
        "kind",
        "quick",
        "raw",
        "record",
        "rules",
        "save_out",
        "saves",
        "step",
        "traced_rules",
        "which_out",
    )

    def __init__(
        self,
        actions: tuple[int, ...],
        save_out: bool,
        which_out: tuple[int, ...] | None,  # of several results, those to keep; None for all
        saves: bool,
        rules: tuple[tuple[int, Rule], ...],
        traced_rules: tuple[tuple[int, Rule], ...],  # those of a recorded pass
        quick: bool,  # for backward's common case: one or two tensors in, one out, a kernel for floats
    ) -> None:
        self.quick = quick
        self.actions = actions
        self.keeps = sum(1 << i for i, action in enumerate(actions) if action == SAVE)  # the same as bits
        self.save_out = save_out
        self.which_out = which_out
        self.saves = saves
        self.rules = rules
        self.traced_rules = traced_rules
        self.kind = 0  # of a plan of the common path (hot.py): which edges its `step` has a gradient for
        self.step: Any = None
        self.record: Any = None  # of such a plan
        self.raw = 0  # of such a plan, as bits: the operands that are kept as raw data, see Node

    def copy(self) -> Plan:
        return Plan(self.actions, self.save_out, self.which_out, self.saves, self.rules, self.traced_rules, self.quick)
