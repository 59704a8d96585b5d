"""Find the places at which a difference was added: cells that differ, computed from cells that are
equal.
"""

from __future__ import annotations

from functools import cached_property

from gradtrace.analysis.compare.cells import (
    AMPLIFIED,
    GRAD,
    VALUE,
    Cell,
    Cells,
    gradient_sources,
    sources,
)
from gradtrace.analysis.compare.differences import (
    Difference,
    DifferencePlace,
    is_before_update,
    is_fact,
    is_fetch,
    one_of_each_step,
    unrepeated,
)
from gradtrace.analysis.compare.distance import INFINITY, relative
from gradtrace.analysis.compare.locations import (
    edit_of,
    first_edit,
    first_use,
    next_version,
    place,
    place_of_clear,
    place_of_frozen,
    place_of_loss,
    place_of_step,
    with_origin,
)
from gradtrace.analysis.compare.reasons import (
    ANOTHER,
    BACKWARD,
    FORWARD,
    INPUT,
    ONLY,
    PARAMETER,
    RANDOM,
    UPDATE,
    adds_to_earlier,
    draws,
    in_evaluation,
    of_edit,
    of_gradient,
    optimiser_of,
    place_of,
    place_of_gradient,
    place_of_state,
    reason_of,
    without_update,
)
from gradtrace.analysis.compare.relations import relation
from gradtrace.analysis.compare.runs import LATER, RecordedRun, base_name, key_of
from gradtrace.analysis.compare.texts import TwoTexts, is_draw
from gradtrace.annotations import Iterable, Iterator, NamedTuple
from gradtrace.trace.record import Operation, PassRecord

INHERITED = 0.1  # of a difference, in an input: then the difference is inherited
TIMES = 1.5  # times the difference of its inputs: then an operation with other options adds to it


Located = tuple["DifferencePlace | None", "DifferencePlace | None", str, str]


class Origin(NamedTuple):
    """A cell that differs, and the cells before it that only A, or only B, has."""

    cell: Cell
    only_a: list[Cell]
    only_b: list[Cell]


class Search:
    """The search for the cells at which a difference was added, from the ends that differ."""

    def __init__(self, cells: Cells, ends: list[Cell]) -> None:
        self.cells = cells
        self.pairs = cells.pairs
        self.a = cells.a
        self.b = cells.b
        self.ends = ends
        self.last = set(ends)

    @cached_property
    def texts(self) -> TwoTexts:
        return TwoTexts(self.a.trace, self.b.trace)

    def differences(self) -> list[Difference]:
        undivided = self.undivided()
        if undivided is not None:
            return [undivided]
        momentum = list(self.momentum_differences())
        decided = {origin.cell for origin in momentum}  # by their options
        origins = [
            origin
            for origin in with_new_parts(
                sorted((*self.origins(), *momentum), key=lambda o: self.order(o.cell))
            )
            if origin.cell in decided or not self.is_rounding(origin.cell)
        ]
        lasting = [o for o in origins if o.cell in decided or not self.is_undone(o.cell)]
        differences = list(map(self.difference, lasting or origins))
        if differences:
            differences = [*self.parameters_of_one(), *differences]
        updates = self.updates_of_one()
        if updates:  # what comes later has another number of updates behind it
            first = min(update.step or 0 for update in updates)
            differences = [
                difference for difference in differences if is_before_update(difference, first)
            ]
            differences += [update for update in updates if (update.step or 0) == first]
        shown = unrepeated(one_of_each_step(differences))
        return shown[:1] + list(filter(is_fact, shown[1:]))

    def origins(self) -> Iterator[Origin]:
        """Yield the cells that differ and inherit that from no cell, or have a reason of their own
        too.
        """
        waiting = list(self.ends)
        seen = set(waiting)
        after: dict[Cell, list[Cell]] = {}  # the cells that inherit from a cell
        explained: list[Cell] = []
        while waiting:
            cell = waiting.pop()
            if self.cells.is_rounding(cell):
                explained.append(cell)
                continue
            reached, only_a, only_b = self.behind(cell)
            for source in reached:
                after.setdefault(source, []).append(cell)
                if source not in seen:
                    seen.add(source)
                    waiting.append(source)
            if not reached or self.adds(cell):
                explained.append(cell)
                yield Origin(cell, only_a, only_b)
        done = set(explained)
        while explained:
            for cell in after.get(explained.pop(), ()):
                if cell not in done:
                    done.add(cell)
                    explained.append(cell)
        # cells that inherit from each other
        rest = [end for end in self.ends if end not in done]
        if rest:
            yield Origin(min(rest, key=self.order), [], [])

    def momentum_differences(self) -> Iterator[Origin]:
        """Yield the results of norms of which only the momentum differs, which decides about their
        running statistics alone.
        """
        for n, m in self.pairs.operations.items():
            left = self.a.operations[n]
            right = self.b.operations[m]
            if left.option("momentum") == right.option("momentum") or in_evaluation(left):
                continue
            has_statistics = keeps_statistics(left) and keeps_statistics(right)
            if has_statistics and left.outputs and left.outputs[0] in self.pairs.partner:
                yield Origin((VALUE, left.outputs[0]), [], [])

    def parameters_of_one(self) -> Iterator[Difference]:
        """Yield the parameters that a module has in one run alone: a bias."""
        for name, run, opposite, paired in (
            ("A", self.a, self.b, self.pairs.partner),
            ("B", self.b, self.a, self.pairs.source),
        ):
            modules: dict[tuple[str, str], int] = {}
            for operation in opposite.operations:
                key = opposite.modules(operation), base_name(operation)
                modules.setdefault(key, operation.id)
            names = set(opposite.names.values())
            for t in run.tensors:
                use = first_use(run, t.id) if t.is_parameter and t.first == t.id else None
                if use is None or t.id in paired or t.id not in run.live:
                    continue
                label = run.label(t.id)
                module = run.modules(run.operations[use])
                twin = modules.get((module, base_name(run.operations[use])))
                if twin is None or label in names or label.rpartition(".")[0] != module:
                    continue
                places = [place(run, t.id, use), place(opposite, None, twin)]
                texts = [self.texts.a, self.texts.b]
                if name == "B":
                    places.reverse()
                yield Difference(
                    ONLY,
                    self.number(1),
                    with_origin(self.a, texts[0], places[0]),
                    with_origin(self.b, texts[1], places[1]),
                    0.0,
                    None,
                    f"only {name} has the parameter {label.rpartition('.')[2]}",
                    only=name,
                )

    def undivided(self) -> Difference | None:
        """Return the difference that gradients add up over more passes in one run, if the ratio
        of the numbers of passes is that of all gradients of the step.
        """
        first = [self.order(cell)[0] for cell in self.ends]
        step = min(first, default=0)
        counts = [self.passes_of(run, step) for run in (self.a, self.b)]
        cells = [c for c, n in zip(self.ends, first, strict=True) if n == step and c[0] == GRAD]
        if not all(counts) or len(counts[0]) == len(counts[1]) or not cells:
            return None
        ratio = len(counts[1]) / len(counts[0])
        for cell in cells:
            left, right = self.cells.values(cell)
            if left is None or right is None or not left.norm:
                return None
            if abs(right.norm / left.norm / ratio - 1) > 1e-3:
                return None
            factor = relation(left, right)
            if left.numel > 1 and left.is_whole and not factor.startswith("B = A *"):
                return None
        roots = [passes[-1].roots[0] for passes in counts]
        makers = [
            run.tensors[root].operation for run, root in zip((self.a, self.b), roots, strict=True)
        ]
        reason = (
            f"the gradients of B = A * {ratio:.6g}: B adds those of {len(counts[1])} passes, A of "
            f"{len(counts[0])}, and the losses are not divided by the number"
        )
        return Difference(
            BACKWARD,
            self.number(step),
            place(self.a, roots[0], makers[0]),
            place(self.b, roots[1], makers[1]),
            0.0,
            self.cells.gap(cells[0]),
            reason,
            self.cells.values(cells[0]),
            is_gradient=True,
        )

    def passes_of(self, run: RecordedRun, step: int) -> list[PassRecord]:
        """Return the passes of a step, counted from the first compared one, that store."""
        steps = run.trace.training
        index = step + run.first - 2
        if not 0 <= index < len(steps):
            return []
        return [p for p in run.trace.passes[slice(*steps[index].passes)] if p.stores and p.roots]

    def number(self, step: int) -> int | None:
        """Return the number of a step of A, counted from the first compared one."""
        steps = self.a.trace.training
        index = step + self.a.first - 2
        return steps[min(max(index, 0), len(steps) - 1)].number if steps else None

    def behind(self, cell: Cell) -> tuple[list[Cell], list[Cell], list[Cell]]:
        """Return the cells from which a cell inherits its difference, and the cells before it
        without a partner.
        """
        kind, i = cell
        is_lost = self.is_lost(cell)
        gap = self.cells.gap(cell)
        share = INHERITED
        if kind == VALUE and self.cells.is_update(i):
            share = 1 / AMPLIFIED
            # of the update, not of the parameter, which is much larger
            update_gap = self.cells.update_gap(i, self.pairs.partner[i])
            gap = gap if update_gap is None else update_gap
        inherited = max(share * min(gap or 0.0, 1.0), 1e-12)
        reached: list[Cell] = []
        twin = kind, self.pairs.partner[i]
        lost = self.cells.values(cell).index(None) if is_lost else -1
        only_a = [] if lost == 0 else self.walk(self.a, cell, inherited, reached, is_lost)
        only_b = [] if lost == 1 else self.walk(self.b, twin, inherited, reached, is_lost)
        if not reached and not only_a and not only_b:
            reached = self.amplified_sources(cell)
        return reached, only_a, only_b

    def amplified_sources(self, cell: Cell) -> list[Cell]:
        """Return the nearest cells before a cell with small differences, if only operations that
        are the same in both runs are between: they amplify what their inputs differ by.
        """
        gaps: dict[Cell, float] = {}
        waiting = [cell]
        seen = {cell}
        while waiting:
            at = waiting.pop()
            if not self.indistinct(at):
                return []
            for source in sources(self.a, at):
                gap = self.cells.gap(source)
                if gap is not None:
                    gaps[source] = gap
                elif source not in seen:
                    seen.add(source)
                    waiting.append(source)
        largest = max(gaps.values(), default=0.0)
        return [source for source, gap in gaps.items() if gap and gap >= INHERITED * largest]

    def walk(
        self,
        run: RecordedRun,
        start: Cell,
        inherited: float,
        reached: list[Cell],
        is_lost: bool = False,
    ) -> list[Cell]:
        """Add to `reached` the nearest cells before a cell that differ; return those before it
        without a partner. A gradient that one run has not is not explained by what changed it.
        """
        alone: list[Cell] = []
        waiting = [start]
        seen = {start}
        while waiting:
            at = waiting.pop()
            for cell in (
                gradient_sources(run, at[1]) if is_lost and at == start else sources(run, at)
            ):
                if cell in seen:
                    continue
                seen.add(cell)
                kind, i = cell
                paired = (kind, i if run is self.a else self.pairs.source.get(i, -1))
                gap = self.cells.gap(paired)
                held = GRAD, self.held(run, i)
                if gap is None and kind == VALUE and self.is_lost(held):
                    reached.append(held)
                elif gap is None:
                    if paired[1] not in self.pairs.partner:
                        alone.append(cell)
                    waiting.append(cell)
                elif self.cells.bad(paired) or gap > inherited:
                    reached.append(paired)
        return alone

    def is_lost(self, cell: Cell) -> bool:
        """Whether only one run has a gradient."""
        return (
            cell[0] == GRAD
            and cell[1] in self.pairs.partner
            and self.cells.bad(cell)
            and None in self.cells.values(cell)
        )

    def held(self, run: RecordedRun, tensor: int) -> int:
        """Return the leaf of A whose gradient a tensor of a run holds; -1 for no leaf."""
        leaf = run.holds.get(tensor, -1)
        return leaf if run is self.a else self.pairs.source.get(leaf, -1)

    def indistinct(self, cell: Cell) -> bool:
        """Whether the operations that a cell comes from are the same in both runs: a small
        difference of their inputs, within the tolerance, is then amplified by them.
        """
        kind, i = cell
        if kind == VALUE and i in self.a.holds:
            kind = GRAD
            i = self.a.holds[i]
        maker = self.a.tensors[i].operation
        if kind == VALUE and maker is None:
            return False
        uses = self.a.uses.get(i, []) if kind == GRAD else [maker]
        pairs = [
            (self.a.operations[n], self.pairs.operations.get(n)) for n in uses if n is not None
        ]
        return all(
            m is not None
            and not draws(self.a, operation)
            and (
                not self.cells.has_short_layers
                or self.has_one_dtype(operation, self.b.operations[m])
            )
            and (operation.name, operation.grad_fn)
            == (self.b.operations[m].name, self.b.operations[m].grad_fn)
            and constants(operation) == constants(self.b.operations[m])
            for operation, m in pairs
        )

    def has_one_dtype(self, left: Operation, right: Operation) -> bool:
        """Whether the results of two operations have one dtype."""
        pairs = zip(left.outputs, right.outputs, strict=False)
        return all(self.a.tensors[i].dtype == self.b.tensors[j].dtype for i, j in pairs)

    def adds(self, cell: Cell) -> bool:
        """Whether an operation with unequal inputs has another reason too: its options differ."""
        kind, i = cell
        maker = self.a.tensors[i].operation
        if kind == GRAD or maker is None or maker not in self.pairs.operations:
            return False
        gaps = [self.cells.gap(source) or 0.0 for source in sources(self.a, cell)]
        # of another shape, other dims; or no more than what was there before
        largest = max(gaps, default=0.0)
        is_inherited = largest > 0 and (self.cells.gap(cell) or 0.0) <= TIMES * largest
        if INFINITY in gaps or is_inherited:
            return False
        left = self.a.operations[maker]
        right = self.b.operations[self.pairs.operations[maker]]
        return left.name == right.name and constants(left) != constants(right)

    def is_rounding(self, cell: Cell) -> bool:
        """Whether an origin is within the tolerance: what follows amplifies a rounding."""
        return not (self.cells.tolerance.exact or not self.cells.good(cell) or self.adds(cell))

    def is_undone(self, cell: Cell) -> bool:
        """Whether all that was computed from a result next is equal: the programs take two ways to
        one value, `-x.mean()` and `(-x).mean()`.
        """
        kind, start = cell
        if kind == GRAD or cell in self.last or self.a.tensors[start].operation is None:
            return False
        waiting = [start]
        seen = {start}
        following = []
        while waiting:
            for use in self.a.uses.get(waiting.pop(), ()):
                for i in self.a.operations[use].outputs:
                    if i in seen:
                        continue
                    seen.add(i)
                    # a comparison, a largest index: other values may give the same
                    if self.a.tensors[i].dtype.startswith(("bool", "int", "uint")):
                        continue
                    if self.cells.gap((VALUE, i)) is None:
                        waiting.append(i)
                    else:
                        following.append(self.cells.good((VALUE, i)))
        return bool(following) and all(following)

    def order(self, cell: Cell) -> tuple[int, int, int]:
        """Return the place of a cell in its run: by step, forward before backward before the
        update.
        """
        kind, i = cell
        step = self.a.step(i)
        position = self.a.position(i)
        if kind == GRAD:
            return step, 1, -position
        earlier = self.a.earlier(i)
        if self.a.tensors[i].operation is None and earlier is not None:
            return self.a.update_step(i), 3, position
        if self.a.tensors[i].operation is None and self.a.tensors[i].is_parameter:
            return step, -1, position
        phase = 2 if LATER != position >= self.end_of_backward(step) else 0
        return step, phase, position if position != LATER else 0

    def end_of_backward(self, step: int) -> int:
        """Return how many operations of A ran before the last pass of a step."""
        trace = self.a.trace
        index = step + self.a.first - 2
        passes = trace.passes
        if 0 <= index < len(trace.training):
            passes = trace.passes[slice(*trace.training[index].passes)]
        return passes[-1].after if passes else LATER

    def difference(self, origin: Origin) -> Difference:
        """Describe an origin: its kind, its places, sizes and reason."""
        cell = origin.cell
        before = [source for source in sources(self.a, cell) if source[1] in self.pairs.partner]
        gaps = [self.cells.gap(source) for source in before]
        place_a, place_b, word, reason = self.located(origin)
        if word == FORWARD and self.is_drawn_row(place_a, place_b):
            word = RANDOM
            reason = f"{ANOTHER}: {reason}"
        if word in (INPUT, PARAMETER, RANDOM):
            place_a, place_b, word, reason = self.drawn(place_a, place_b, word, reason)
        word, _, only = word.partition(" ")
        step = self.order(cell)[0]
        if word == FORWARD and "=" in reason:
            step = self.first_step(place_a, place_b, step)
        return Difference(
            word,
            self.number(step),
            with_origin(self.a, self.texts.a, place_a),
            with_origin(self.b, self.texts.b, place_b),
            min(max((gap for gap in gaps if gap is not None), default=0.0), INFINITY),
            self.cells.gap(cell),
            reason,
            self.cells.values(cell),
            None in gaps,
            cell[0] == GRAD or cell[1] in self.a.holds,
            only,
        )

    def first_step(
        self, place_a: DifferencePlace | None, place_b: DifferencePlace | None, step: int
    ) -> int:
        """Return the first step in which two operations stand at these places, with the same
        options: a difference may be within the tolerance there.
        """
        numbers = [None if p is None else p.operation for p in (place_a, place_b)]
        if numbers[0] is None or numbers[1] is None:
            return step
        call = called(self.a.operations[numbers[0]]), called(self.b.operations[numbers[1]])
        return min(step, self.first_steps.get(call, step))

    @cached_property
    def first_steps(self) -> dict[object, int]:
        """The first step in which a pair of operations stands at its two places."""
        steps: dict[object, int] = {}
        for n, m in self.pairs.operations.items():
            call = called(self.a.operations[n]), called(self.b.operations[m])
            step = self.a.step_of_operation[n]
            if step > 0:
                steps[call] = min(step, steps.get(call, step))
        return steps

    def is_drawn_row(
        self, place_a: DifferencePlace | None, place_b: DifferencePlace | None
    ) -> bool:
        """Whether two places read rows of a data set in an order that the programs draw."""
        return (
            place_a is not None
            and place_b is not None
            and is_row_of_data(self.a, place_a)
            and is_row_of_data(self.b, place_b)
            and (self.texts.a.draws_order() or self.texts.b.draws_order())
        )

    def draw_of_one(self, place_a: DifferencePlace, place_b: DifferencePlace) -> str:
        """Return an operation that draws numbers in one run alone before the drawn numbers at two
        places, in words.
        """
        alone = [
            [
                operation
                for operation in run.operations
                if operation.id not in paired
                and draws(run, operation)
                and is_before(run, operation, place)
            ]
            for run, paired, place in (
                (self.a, self.pairs.operations, place_a),
                (self.b, self.pairs.sources, place_b),
            )
        ]
        if not any(alone) or all(alone):
            return ""
        name, operation = ("A", alone[0][0]) if alone[0] else ("B", alone[1][0])
        line = "" if operation.span is None else operation.span.where
        return f"only {name} draws with {operation.name} ({line})"

    def drawn(
        self,
        place_a: DifferencePlace | None,
        place_b: DifferencePlace | None,
        word: str,
        reason: str,
    ) -> tuple[DifferencePlace | None, DifferencePlace | None, str, str]:
        """Return places, kind and reason of numbers that may be drawn; if they are in both runs,
        with what the texts say of seeds and draws.
        """
        if place_a is None or place_b is None:
            return place_a, place_b, word, reason
        lines = [
            text.drawn_line(place.label)
            for place, text in ((place_a, self.texts.a), (place_b, self.texts.b))
        ]
        are_drawn = all(
            is_draw(place.label) or line is not None
            for place, line in zip((place_a, place_b), lines, strict=True)
        )
        if word == INPUT and not reason and are_drawn:
            word = RANDOM
            if lines[0] is not None:
                place_a = place_a._replace(line=lines[0], file=self.a.trace.source_name)
            if lines[1] is not None:
                place_b = place_b._replace(line=lines[1], file=self.b.trace.source_name)
        is_initial = word == PARAMETER and all(
            has_initial_values(run, place) for run, place in ((self.a, place_a), (self.b, place_b))
        )
        if (word == RANDOM or is_initial) and (not reason or reason.startswith(ANOTHER)):
            cause = self.texts.seeds() or self.texts.draws() or self.draw_of_one(place_a, place_b)
            reason = "; ".join(filter(None, (reason, cause)))
        return place_a, place_b, word, reason

    def located(self, origin: Origin) -> Located:
        """Return the places of an origin in both runs, its kind ("only A" of what only A has) and
        its reason.
        """
        cells = self.cells
        kind, i = origin.cell
        if kind == VALUE and i in self.a.holds:
            kind = GRAD
            i = self.a.holds[i]
        j = self.pairs.partner[i]
        if kind == GRAD:
            located = (
                self.located_edit(origin, i, j)
                or self.located_clear(i, j)
                or self.located_freeze(i, j)
            )
            if located is not None:
                return located
            sides = place_of_gradient(cells, i, j)
        else:
            rows = self.located_rows(i, j)
            if rows is not None:
                return rows
            sides = place_of_state(cells, i, j) or place_of(
                cells, i, j, origin.only_a, origin.only_b
            )
        word, reason = reason_of(cells, (kind, i), sides)
        if word.startswith(ONLY):
            run, alone = (self.a, origin.only_a) if word.endswith("B") else (self.b, origin.only_b)
            # what the other run does there with no operation of its record
            written = next((t for k, t in alone if k == VALUE and run.write_of(t)), None)
            if written is not None:
                word = FORWARD
                reason = relation(*cells.values((kind, i)))
                side = written, None
                sides = (side, sides[1]) if run is self.a else (sides[0], side)
        if word == UPDATE and (beside := self.located_write(i, j)) is not None:
            return beside
        is_step = word == UPDATE and None not in (sides[0][0], sides[1][0])
        describe = place_of_step if is_step else place
        return describe(self.a, *sides[0]), describe(self.b, *sides[1]), word, reason

    def located_write(self, i: int, j: int) -> Located | None:
        """Return where operations write to a parameter beside its optimiser's step in one run; None
        if both do that, none does, or a run has no optimiser.
        """
        writes = self.a.taken.get(i), self.b.taken.get(j)
        optimisers = optimiser_of(self.a, i), optimiser_of(self.b, j)
        if (writes[0] is None) == (writes[1] is None) or None in optimisers:
            return None
        places = [
            place_of_step(run, t, None) if write is None else place(run, None, write)
            for run, t, write in zip((self.a, self.b), (i, j), writes, strict=True)
        ]
        name = "B" if writes[0] is None else "A"
        reason = f"only {name} writes to it beside the step"
        return places[0], places[1], f"{ONLY} {name}", reason

    def located_rows(self, i: int, j: int) -> Located | None:
        """Return where the programs select other rows of equal data, which one operation reads in
        both; None if they do not.
        """
        left = self.a.maker(i)
        right = self.b.maker(j)
        if left is None or right is None or base_name(left) != base_name(right):
            return None
        for x, y in zip(left.tensors, right.tensors, strict=False):
            origins = self.a.selected_from(x), self.b.selected_from(y)
            if None in origins or relative(self.a.tensors[x].value, self.b.tensors[y].value) in (
                None,
                0.0,
                INFINITY,
            ):
                continue
            if self.pairs.partner.get(origins[0] or 0) != origins[1]:
                continue
            places = [
                place(run, t, run.tensors[t].operation) for run, t in ((self.a, x), (self.b, y))
            ]
            return places[0], places[1], INPUT, self.step_of_rows(x, right)
        return None

    def step_of_rows(self, x: int, reader: Operation) -> str:
        """Return in which step of B an operation reads the rows that A reads here, in words."""
        rows = key_of(self.a.tensors[x].value)
        for operation in self.b.operations:
            if base_name(operation) == base_name(reader) and any(
                key_of(self.b.tensors[t].value) == rows for t in operation.tensors
            ):
                step = self.number(self.b.step_of_operation[operation.id])
                return f"other rows of the data: B reads those of A in step {step}"
        return "other rows of the data"

    def located_edit(self, origin: Origin, i: int, j: int) -> Located | None:
        """Return where operations changed a gradient after backward; None if they did not."""
        edits = (
            first_edit(self.a, self.pairs.operations, i, origin.only_a),
            first_edit(self.b, self.pairs.sources, j, origin.only_b),
        )
        if edits == (None, None) and (i in self.a.edited) != (j in self.b.edited):
            edits = (edit_of(self.a, i), edit_of(self.b, j))
        if edits == (None, None) or self.is_lost((GRAD, i)):
            return None
        places = [
            place_of_step(run, next_version(run, t), None)
            if edit is None
            else place(run, None, edit)
            for run, t, edit in zip((self.a, self.b), (i, j), edits, strict=True)
        ]
        name = "B" if edits[0] is None else "A"
        word = BACKWARD if None not in edits else f"{ONLY} {name}"
        return places[0], places[1], word, of_edit(self.cells, i, edits)

    def located_clear(self, i: int, j: int) -> Located | None:
        """Return where a gradient was cleared that the other run adds to; None if both do one."""
        if not self.cells.is_leaf(i) or adds_to_earlier(self.a, i) == adds_to_earlier(self.b, j):
            return None
        reason = of_gradient(self.cells, i, None, None)
        return place_of_clear(self.a, i), place_of_clear(self.b, j), BACKWARD, reason

    def located_freeze(self, i: int, j: int) -> Located | None:
        """Return where requires_grad of a leaf was turned off in one run; None if it was not."""
        if self.a.tensors[i].requires_grad == self.b.tensors[j].requires_grad:
            return None
        frozen_a = place_of_frozen(self.a, i)
        frozen_b = place_of_frozen(self.b, j)
        if frozen_a is None and frozen_b is None:
            return None
        return (
            frozen_a or place(self.a, i, first_use(self.a, i)),
            frozen_b or place(self.b, j, first_use(self.b, j)),
            BACKWARD,
            of_gradient(self.cells, i, None, None),
        )

    def updates_of_one(self) -> list[Difference]:
        """Return the first step of each parameter in which only one run updates it, though both
        have its gradient.
        """
        updates = []
        for i, j in self.pairs.partner.items():
            is_first = (
                self.a.tensors[i].requires_grad and self.a.earlier(i) is self.b.earlier(j) is None
            )
            if not is_first or i not in self.a.grads or j not in self.b.grads:
                continue
            if is_written_by_hand(self.a, i) or is_written_by_hand(self.b, j):
                continue
            by_step_a = {
                self.a.update_step(version): version for version in self.pairs.later(self.a, i)
            }
            by_step_b = {
                self.b.update_step(version): version for version in self.pairs.later(self.b, j)
            }
            steps = (
                by_step_a.keys() | self.a.updated_in(i),
                by_step_b.keys() | self.b.updated_in(j),
            )
            step = min(steps[0] ^ steps[1], default=None)
            if step is None:
                continue
            place_a = place_of_step(self.a, by_step_a[step], None) if step in by_step_a else None
            place_b = place_of_step(self.b, by_step_b[step], None) if step in by_step_b else None
            number = self.number(step)
            name, run, still = ("B", self.b, j) if step in steps[0] else ("A", self.a, i)
            reason = without_update(name, run, still)
            loss = place_of_loss(run, still)
            if loss is not None and loss.op == "zero_grad":
                reason = f"{name} clears the gradient before the update"
            place_a = place_a or loss
            place_b = place_b or loss
            updates.append(Difference(UPDATE, number, place_a, place_b, 0.0, None, reason))
        return updates


def constants(operation: Operation) -> tuple[str, ...]:
    return tuple(sorted(operation.constants))


def called(operation: Operation) -> object:
    """Return what the calls of one place of the program with the same options have in common."""
    return operation.name, operation.span, constants(operation)


def keeps_statistics(norm: Operation) -> bool:
    """Whether PyTorch's norm was given a running mean: after the input, the weight and the bias."""
    return any(operand.position == 3 and operand.tensor is not None for operand in norm.inputs)


def is_written_by_hand(run: RecordedRun, tensor: int) -> bool:
    """Whether operations of the program made versions of a leaf, which then do not count as an
    optimiser's updates.
    """
    return any(
        run.tensors[i].operation is not None for i in run.versions[run.tensors[tensor].first]
    )


def with_new_parts(origins: Iterable[Origin]) -> Iterator[Origin]:
    """Yield the origins, without those whose part that only one run has was met before."""
    met: set[tuple[int, int]] = set()
    for origin in origins:
        parts = {(0, i) for _, i in origin.only_a} | {(1, i) for _, i in origin.only_b}
        if not parts or not parts <= met:
            met |= parts
            yield origin


def is_row_of_data(run: RecordedRun, place: DifferencePlace) -> bool:
    """Whether a place is one of several reads of rows of an input by one line."""
    if not is_fetch(place) or place.operation is None:
        return False
    operation = run.operations[place.operation]
    data = run.tensors[operation.tensors[0]]
    if data.operation is not None or data.requires_grad:
        return False
    reads = [run.operations[n] for n in run.uses[data.id]]
    rows = {
        read.constants
        for read in reads
        if read.name == operation.name and read.span == operation.span
    }
    return len(rows) > 1


def has_initial_values(run: RecordedRun, place: DifferencePlace) -> bool:
    """Whether a place is a parameter of a module with the numbers that it was made with, as far as
    the record knows.
    """
    if place.tensor is None or place.module not in run.classes:
        return False
    record = run.tensors[place.tensor]
    return record.first == record.id and record.operation is None


def is_before(run: RecordedRun, draw: Operation, place: DifferencePlace) -> bool:
    """Whether an operation ran before the numbers at a place were drawn: in an earlier step, or by
    an earlier line.
    """
    position = place.operation
    if position is None:
        position = LATER if place.tensor is None else run.position(place.tensor)
    if draw.id >= position or draw.span is None or position == LATER:
        return False
    if run.step_of_operation[draw.id] < run.step_of_operation[position]:
        return True
    is_one_file = (draw.span.file or run.trace.source_name) == place.file
    return is_one_file and place.line is not None and draw.span.line < place.line
