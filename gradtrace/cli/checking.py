"""Run a program repeatedly for `gradtrace check`: unchanged, and with one element of one leaf
shifted.
"""

from __future__ import annotations

import gradtrace
from gradtrace.analysis import check as analysis
from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.cli import hints, inputs, session, values
from gradtrace.cli.inputs import evaluator
from gradtrace.cli.options import Request, names
from gradtrace.engine.data.state import using
from gradtrace.errors import ProgramError, UsageError
from gradtrace.ops.random.generator import RepeatedDraws
from gradtrace.program.budget import Output
from gradtrace.program.generators import repeatable_generators
from gradtrace.program.result import RunOptions
from gradtrace.program.run import running
from gradtrace.trace import opcheck
from gradtrace.trace.finite import FLOAT64, WRONG
from gradtrace.trace.history import bound_names
from gradtrace.trace.keeper import Keeper
from gradtrace.trace.probe import Probe, Shift, as_array

if TYPE_CHECKING:
    from gradtrace.analysis.against import Compared
    from gradtrace.analysis.facts import Facts

OPERATIONS = 2000  # operations of a run that are checked one by one
SEED = 0  # of a program that draws random numbers without --seed
PER_FUNCTION = 3  # calls of each Function of the program that are checked anyway


class Runner:
    """A program that is run repeatedly, each time with the inputs and random numbers that it has in
    its own dtype.
    """

    def __init__(self, request: Request) -> None:
        self.dtype = request.inputs.dtype or "float64"
        self.own = inputs.seeded(request, SEED)
        self.request = self.own._replace(inputs=self.own.inputs._replace(dtype=self.dtype))
        self.eps = FLOAT64 if self.dtype == "float64" else opcheck.FLOAT32
        evaluate = evaluator(self.dtype, request.budget)
        self.vectors = [
            values.read(text, "--grad-tensors", evaluate) for text in request.how.grad_tensors
        ]
        self.draws = RepeatedDraws()
        self.tensors = self.prepared(self.own)
        self.first_draw, self.random_state = self.draws.place, gradtrace.get_rng_state()
        if self.own.dtype != self.dtype:
            self.repeat(self.own.dtype)
            self.tensors = self.prepared(self.request)
        self.first: Probe | None = None
        self.env: dict[str, Any] = {}
        self.spans: list[Any] = []

    def prepared(self, request: Request) -> dict[str, Any]:
        """Return the inputs, with the random numbers of the first time."""
        self.draws.rewind()
        with using(draws=self.draws):
            return inputs.prepare(request)

    def run(self, order: int = 1, shift: Shift | None = None, examine: Any = None) -> Probe:
        """Run the program in the dtype of the check."""
        use = None if self.first is None else self.first.first_use
        probe, done = self.repeat(self.dtype, order, shift, examine, use)
        if self.first is None:
            self.first = probe
            self.env = done.env
            self.spans = done.spans
        return probe

    def repeat(
        self,
        dtype: str,
        order: int = 1,
        shift: Shift | None = None,
        examine: Any = None,
        first_use: dict[int, int] | None = None,
    ) -> tuple[Probe, Any]:
        """Run the program up to its first backward, or to its end, without output; return the probe
        and the run.
        """
        import warnings

        gradtrace.set_rng_state(self.random_state)
        self.draws.rewind(self.first_draw)
        tensors = {name: copy_of(tensor) for name, tensor in self.tensors.items()}
        probe = Probe(
            [t for t in tensors.values() if t.requires_grad], order, shift, first_use, examine
        )
        options = RunOptions(
            dtype=dtype,
            record=Keeper,
            watcher=probe,
            budget=self.request.budget,
            stdout=Output(self.request.budget),
            stderr=Output(self.request.budget),
        )
        with warnings.catch_warnings(), using(draws=self.draws), repeatable_generators():
            warnings.simplefilter("ignore")
            with running(self.request.program, tensors, options) as run:
                if probe.outcome is None:
                    probe.measure(*self.result(session.boxed(run), probe))
        return probe, run

    def result(self, run: Any, probe: Probe) -> tuple[tuple[Any, ...], tuple[Any, ...] | None]:
        """For a program that does not call backward itself, return its results and the
        --grad-tensors for them.
        """
        wanted = names(self.request.how.output)
        roots = (
            [run.env[name] for name in wanted if name in run.env]
            if wanted
            else session.roots_of(run)
        )
        if not any(root.requires_grad for root in roots):
            raise UsageError(
                "the result does not require grad, so there is nothing to check",
                hints.of_no_grad(self.request.inputs.no_grad),
            )
        if not self.vectors:
            return tuple(roots), None
        return tuple(roots), tuple(
            values.tensor(raw, roots[min(i, len(roots) - 1)].dtype.name, True)
            for i, raw in enumerate(self.vectors)
        )

    def measure(self, leaf: int, order: int) -> Any:
        """Return f(element, by): the value (order 1) or directional slope (order 2) with an element
        shifted by `by`.
        """

        def f(element: int, by: float) -> float:
            outcome = self.run(
                order, Shift(leaf, element, by) if by else Shift(leaf, element, 0.0)
            ).outcome
            if outcome is None:
                return float("nan")
            return outcome.value if order == 1 else outcome.slope

        return f

    def name(self, leaf: int) -> str:
        """Return the variable of a leaf, or else the line on which the leaf was made."""
        assert self.first is not None
        name_of = {id(tensor): name for name, tensor in bound_names(self.env)}
        tensor = self.first.tracked[leaf]
        span = (
            self.spans[self.first.origins[leaf]]
            if self.first.origins[leaf] < len(self.spans)
            else None
        )
        return name_of.get(id(tensor)) or (f"leaf of line {span.line}" if span else f"leaf {leaf}")


def copy_of(tensor: Any) -> Any:
    from gradtrace.engine import Tensor
    from gradtrace.engine.data.lazy import np

    raw = tensor._data
    copy = Tensor._wrap(raw if type(raw) in (float, bool) else np.array(raw))
    return copy.requires_grad_() if tensor.requires_grad else copy


def check(request: Request, order: int, most: int) -> analysis.Check:
    """Return the whole report of `gradtrace check`."""
    runner = Runner(request)
    checked: list[opcheck.Checked] = []
    first = runner.run(examine=own_functions(checked))
    named = [
        (i, runner.name(i)) for i, t in enumerate(first.tracked) if t.is_leaf and t.requires_grad
    ]
    leaves = restricted(named, names(request.how.inputs))
    if first.outcome is None or not leaves:
        raise UsageError(
            "no leaf requires grad, so there is nothing to check", "let a variable require grad"
        )
    elements: list[analysis.Element] = []
    skipped = 0
    for n in range(1, order + 1):
        outcome = first.outcome if n == 1 else runner.run(2).outcome
        assert outcome is not None
        for leaf, name in leaves:
            data = as_array(first.tracked[leaf])
            derivatives = outcome.gradients if n == 1 else outcome.seconds
            chosen = spread(data.size, most)
            skipped += data.size - len(chosen)
            elements += analysis.elements(
                name,
                data.shape,
                data,
                derivatives[leaf] if derivatives else None,
                runner.measure(leaf, n),
                chosen,
                n,
                runner.eps,
            )
    if any(e.verdict == WRONG for e in elements):
        checked.clear()
        runner.run(examine=every_operation(checked))
    wrong = [as_wrong(runner, c) for c in checked if c.wrong is not None]
    if any(e.verdict == WRONG and e.order == 2 for e in elements) and not wrong:
        wrong = twice(runner)
    cuts: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    if not wrong and any(e.verdict == WRONG for e in elements):
        facts = facts_of(runner.own)
        hidden = hidden_changes(facts)
        cuts, cut = cut_names(facts)
        elements = elements if hidden else list(analysis.excused(elements, cut))
    functions = tuple(dict.fromkeys(c.name for c in checked if c.custom))
    return analysis.Check(
        tuple(elements),
        tuple(wrong),
        functions,
        cuts,
        hidden,
        skipped,
        runner.dtype,
        where(runner, first),
    )


def beside_torch(request: Request, python: str | None) -> tuple[list[Compared], str]:
    """Return the whole report of `gradtrace check --against torch`, and PyTorch's version."""
    from gradtrace.analysis.against import against
    from gradtrace.cli import torch_process
    from gradtrace.cli.trials import Silent

    request = inputs.seeded(request)
    draws = RepeatedDraws()
    try:
        with using(draws=draws):
            trace = session.record(request)
    except ProgramError:
        # which says so if the program fails in PyTorch too
        torch_process.variables(request, python)
        raise
    answer = torch_process.variables(request, python, trace)
    compared = against(trace, answer["tensors"], answer["roots"])
    differ = any(fact.gap is not None and not fact.same for fact in compared)
    if differ and request.dtype == "float32" and request.program.record is None:
        draws.rewind()
        wide = request._replace(inputs=request.inputs._replace(dtype="float64"))
        with using(draws=draws):
            exact = session.record(wide, session.Wanted(out=Silent()))
        compared = against(trace, answer["tensors"], answer["roots"], exact)
    return compared, answer["version"]


def restricted(leaves: list[tuple[int, str]], wanted: tuple[str, ...]) -> list[tuple[int, str]]:
    """Return the leaves that --inputs names, or all leaves; raise UsageError for an unknown
    name.
    """
    from gradtrace.views.names import full_name

    leaf_of = {name: leaf for leaf, name in leaves}
    chosen = []
    for name in wanted:
        full = full_name(name, leaf_of, "--inputs")
        if full is None:
            raise UsageError(
                f"--inputs: no leaf '{name}' that requires grad", hints.near(name, leaf_of)
            )
        chosen.append(full)
    return [leaf for leaf in leaves if leaf[1] in chosen] if wanted else leaves


def where(runner: Runner, first: Probe) -> str:
    name_of = {id(tensor): name for name, tensor in bound_names(runner.env)}
    return ", ".join(name_of.get(id(out), "the result") for out in first.outputs) or "the result"


def spread(size: int, most: int) -> list[int]:
    """Return the indices of all elements, or of `most` of them, evenly spaced."""
    return list(range(size)) if size <= most else [size * k // most for k in range(most)]


# ---- operations


def own_functions(checked: list[opcheck.Checked]) -> Any:
    """Compare the first calls of each autograd Function of the program with finite differences."""
    seen: dict[str, int] = {}

    def examine(node: Any, gradient: Any, call: Any) -> None:
        if node.op is None and seen.setdefault(call[0], 0) < PER_FUNCTION:
            seen[call[0]] += 1
            add(checked, node, call)

    return examine


def every_operation(checked: list[opcheck.Checked]) -> Any:
    def examine(node: Any, gradient: Any, call: Any) -> None:
        if len(checked) < OPERATIONS:
            add(checked, node, call)

    return examine


def add(checked: list[opcheck.Checked], node: Any, call: Any) -> None:
    verdict = opcheck.check(node, call)
    if verdict is not None:
        checked.append(verdict)


def as_wrong(runner: Runner, checked: opcheck.Checked) -> analysis.Wrong:
    assert checked.wrong is not None
    operand, element, analytic, judged = checked.wrong
    span, source = place(runner, checked.origin)
    return analysis.Wrong(
        checked.name, checked.custom, span, source, operand, element, analytic, judged.numeric
    )


def place(runner: Runner, origin: int) -> tuple[Any, str]:
    from gradtrace.trace import Span

    span = runner.spans[origin] if 0 < origin < len(runner.spans) else None
    if span is None:
        return None, ""
    return Span(*span[:4]), runner.request.program.source.line(span.line).strip()


def twice(runner: Runner) -> list[analysis.Wrong]:
    """Return the autograd Functions of the program whose second derivative is wrong."""
    from gradtrace.func.gradcheck import gradgradcheck

    wrong: list[analysis.Wrong] = []
    seen: set[str] = set()

    def examine(node: Any, gradient: Any, call: Any) -> None:
        name, args, _, origin = call
        if node.op is not None or name in seen:
            return
        seen.add(name)
        fresh = [
            copy_of(a).double().requires_grad_() if getattr(a, "requires_grad", False) else a
            for a in args
        ]
        inputs = tuple(a for a in fresh if getattr(a, "requires_grad", False))

        def apply(*leaves: Any) -> Any:
            rest = iter(leaves)
            return type(node).function.apply(
                *(next(rest) if any(a is f for f in inputs) else a for a in fresh)
            )

        if not with_gradients(gradgradcheck, apply, inputs):
            span, source = place(runner, origin)
            wrong.append(
                analysis.Wrong(name, True, span, source, -1, 0, float("nan"), float("nan"))
            )

    runner.run(examine=examine)
    return wrong


def with_gradients(gradgradcheck: Any, apply: Any, inputs: tuple[Any, ...]) -> bool:
    """Call gradgradcheck within a backward pass, with grad mode on and without watcher or
    recorder.
    """
    try:
        with using(watcher=None, recorder=None, grad_enabled=True):
            return bool(gradgradcheck(apply, inputs, raise_exception=False))
    except (RuntimeError, TypeError, ValueError):
        return False


def facts_of(request: Request) -> Facts:
    """Return the facts about a run that explain differences not caused by a wrong derivative
    rule.
    """
    from gradtrace.analysis.facts import Facts

    return Facts(session.record(request, session.GRADIENTS._replace(detailed=None, failing=True)))


def hidden_changes(facts: Facts) -> tuple[str, ...]:
    """Return a note for each saved value that was changed before backward used it, unseen by
    autograd.
    """
    from gradtrace.analysis.numbers import unseen_changes

    return tuple(
        f"{facts.called(change.tensors)} is changed{facts.at_line(change.span)} after its value "
        "had been saved"
        for change in unseen_changes(facts)
    )


def cut_names(facts: Facts) -> tuple[tuple[str, ...], Any]:
    """Return the intentional cuts of gradients before the result, as texts, and a test for the
    leaves they affect.
    """
    from gradtrace.analysis.history import describe

    trace = facts.trace
    roots = trace.passes[0].roots if trace.passes else trace.roots
    into = facts.flow.before(roots)
    cuts: dict[str, list[str]] = {}
    for record in trace.tensors:
        if record.is_leaf and record.requires_grad and record.is_last:
            reasons = [
                describe(facts, c).because
                for c in facts.flow.cuts_after(record.id)
                if c.result in into
            ]
            left = [e.how + "()" for e in facts.flow.numbers_from(facts.flow.after([record.id]))]
            if reasons or left:
                cuts[record.label] = reasons or left
    return tuple(
        dict.fromkeys(text for texts in cuts.values() for text in texts)
    ), lambda leaf: leaf in cuts
