"""The laws, each with the codes of its violations, most serious first."""

from __future__ import annotations

from gradtrace.analysis.cause import Cause
from gradtrace.analysis.laws import (
    draws,
    elements,
    losses,
    masks,
    modules,
    parameters,
    results,
    shapes,
    used_gradients,
    writes,
)
from gradtrace.analysis.ledger.book import Ledger
from gradtrace.annotations import Callable, Iterator, NamedTuple


class Law(NamedTuple):
    """A law with a sentence for each code. What violates a law that is a remark may be meant. One
    of the causes `unless` explains a violation, so such a law is asked after the other questions.
    """

    check: Callable[[Ledger], Iterator[Cause]]
    codes: dict[str, str]
    is_remark: bool = False
    unless: tuple[str, ...] = ()


SYMPTOMS = (
    *("diverges", "not finite", "gradient overflow", "nan in data", "clipped to 0", "zero rate"),
    *("cleared early", "no step", "constant sum", "vanishes", "explodes", "stopped"),
)


LAWS = (
    Law(
        used_gradients.used_once,
        {"cleared early": "gradients are cleared before a step uses them"},
    ),
    Law(
        used_gradients.of_one_state,
        {"mixed gradients": "a step adds gradients of two states of the parameters"},
    ),
    Law(
        used_gradients.once_for_each_loss,
        {"backward twice": "backward runs twice from a loss before a step"},
    ),
    Law(
        used_gradients.closures_clear,
        {"closure accumulates": "an LBFGS closure that clears no gradients"},
    ),
    Law(
        used_gradients.for_parameters,
        {"gradients of a sampler": "a step also uses gradients of passes for an input"},
    ),
    Law(elements.rows_add_up, {"rows lost": "an assignment that adds rows of equal indices"}),
    Law(
        elements.extremes_unmasked,
        {"masked extreme": "a minimum of the zeros that a mask leaves"},
    ),
    Law(
        elements.divergences_in_range,
        {"logarithms as target": "log-probabilities as the target of kl_div"},
    ),
    Law(elements.sequences_fit, {"frames missing": "ctc_loss of too few frames, made 0"}),
    Law(modules.hooks_once, {"hook twice": "a hook is registered again in each step"}),
    Law(
        modules.schedules_follow,
        {"early schedule": "a scheduler that is stepped before the optimiser"},
    ),
    Law(
        modules.modes_stay,
        {"evaluation mode": "a model that a validation leaves in evaluation mode"},
    ),
    Law(
        modules.clips_before_steps,
        {
            "clips nothing": "clip_grad_norm_ of an iterator that has no tensor left",
            "idle clip": "clipping that no step uses",
        },
    ),
    Law(
        parameters.updates_stay,
        {"updates undone": "a write brings back what a step has changed"},
        unless=SYMPTOMS,
    ),
    Law(
        parameters.updates_show,
        {"updates lost": "updates smaller than the spacing of the dtype"},
        unless=SYMPTOMS,
    ),
    Law(
        results.loss_moves,
        {"computed once": "a loss that is computed before the loop"},
        unless=SYMPTOMS,
    ),
    Law(
        results.terms_train,
        {"constant term": "a term of the loss without a gradient"},
        unless=SYMPTOMS,
    ),
    Law(
        losses.likelihood_falls,
        {"likelihood falls": "a log-likelihood that is minimised"},
        unless=SYMPTOMS,
    ),
    Law(
        shapes.losses_match,
        {"broadcast": "a loss of a prediction and a target of unlike shapes"},
    ),
    Law(
        draws.recomputed_alike,
        {"recomputed otherwise": "a checkpoint that draws other numbers in backward"},
    ),
    Law(
        parameters.held_by_an_optimiser,
        {"no optimiser": "parameters with gradients in no optimiser"},
        True,
    ),
    Law(
        writes.copies_differ,
        {"copied onto itself": "a copy from the memory that it writes to"},
        True,
    ),
    Law(masks.tokens_attended, {"mask inverted": "a mask that leaves the padding alone"}, True),
    Law(masks.past_attended, {"mask turned over": "a causal mask that hides the past"}, True),
    Law(
        results.penalties_added,
        {"rewarded size": "a penalty of parameters that is subtracted"},
        True,
    ),
    Law(elements.norms_of_rows, {"one norm": "a mean of one norm of all samples"}, True),
    Law(elements.sequences_count, {"some frames missing": "sequences of too few frames"}, True),
    Law(parameters.groups_move, {"group at rest": "a group with a learning rate of 0"}, True),
    Law(parameters.units_differ, {"equal units": "a layer whose units stay equal"}, True),
    Law(parameters.averages_last, {"average follows": "an average that keeps little"}, True),
    Law(shapes.samples_differ, {"samples alike": "a batch of one sample, repeated"}, True),
    Law(draws.scales_positive, {"negative scale": "noise that is scaled by a mean"}, True),
    Law(losses.blank_apart, {"blank in targets": "targets of ctc_loss that are its blank"}, True),
    Law(draws.noise_shared, {"unrelated noise": "a target drawn apart from the inputs"}, True),
    Law(modules.modules_differ, {"one object": "a list that repeats one module"}, True),
    Law(modules.hooks_bound, {"late binding": "hooks of a loop that share its last turn"}, True),
    Law(losses.results_kept, {"bound again": "a result that each turn of a loop replaces"}, True),
    Law(
        losses.others_compared,
        {"compared with itself": "a classification of samples that has each one itself"},
        True,
    ),
    Law(losses.margins_count, {"margin outside": "a margin behind the hinge"}, True),
    Law(writes.additions_return, {"addition stays": "an addition to parameters that stays"}, True),
    Law(draws.drawn_once, {"drawn apart": "two draws where a step needs one"}, True),
    Law(
        shapes.axes_in_order,
        {"axes exchanged": "axes that einops joins and splits in another order"},
        True,
    ),
    Law(writes.writes_read, {"unread write": "a write to a result that nothing reads"}, True),
    Law(
        results.divided_once,
        {"divided twice": "a loss that is divided twice by one number"},
        True,
    ),
    Law(writes.data_stays, {"data changed": "in-place arithmetic on a part of the data"}, True),
    Law(results.paths_remain, {"path cancelled": "a term that a difference takes away"}, True),
    Law(
        results.differences_vary,
        {"always equal": "two results that are equal in each step"},
        True,
    ),
    Law(results.results_used, {"dropped result": "a result that nothing reads"}, True),
    Law(
        draws.drawn_again,
        {"repeated draw": "a line that draws the same numbers in each step"},
        True,
    ),
    Law(losses.entropy_rises, {"entropy falls": "an entropy that a policy's loss lowers"}, True),
    Law(losses.weights_constant, {"trained weight": "an advantage that has a gradient"}, True),
    Law(results.turns_alike, {"partly dropped": "results of which a step reads some"}, True),
    Law(modules.dropout_leaves, {"most is dropped": "a dropout of 0.9 and more"}, True),
    Law(results.differences_apart, {"signs cancel": "differences that a sum cancels"}, True),
    Law(shapes.samples_first, {"time for samples": "a layer that reads samples as time"}, True),
    Law(shapes.channels_first, {"channels last": "a convolution of images of (h, w, c)"}, True),
    Law(losses.batches_differ, {"same batch": "a loop over batches that uses one"}, True),
    Law(parameters.flags_exist, {"unknown flag": "a misspelt requires_grad"}, True),
    Law(modules.dropout_ends, {"dropout stays on": "a dropout in evaluation mode"}, True),
    Law(
        modules.statistics_known,
        {"initial statistics": "an evaluation with running statistics of no data"},
        True,
    ),
    Law(
        shapes.views_keep_order,
        {"order kept": "a view that exchanges the sizes of two dimensions"},
        True,
    ),
    Law(
        shapes.samples_apart,
        {"over the batch": "a normalisation over the samples"},
        True,
    ),
    Law(shapes.dims_told_apart, {"dims alike": "a reduction of one of two equal dims"}, True),
    Law(
        results.targets_constant,
        {"trained target": "a regression whose target has a gradient"},
        True,
    ),
    Law(results.targets_vary, {"one target": "targets of mostly one class"}, True),
    Law(
        results.targets_differ,
        {"targets are inputs": "a classification whose targets are its inputs"},
        True,
    ),
    Law(
        shapes.targets_complete,
        {"one target a row": "a loss of several predictions a row and one target"},
        True,
    ),
    Law(
        shapes.element_by_element,
        {"broadcast result": "a result larger than its operands"},
        True,
    ),
    Law(results.losses_reached, {"dropped loss": "a number with grad that goes nowhere"}, True),
    Law(
        modules.modes_agree,
        {
            "in evaluation mode": "a model that is trained in evaluation mode",
            "modes apart": "a module in another mode than the one around it",
            "evaluated in training mode": "a model that runs without gradients in training mode",
        },
        True,
    ),
    Law(
        modules.schedules_move,
        {"schedule apart": "a schedule that is not stepped with its optimiser"},
        True,
    ),
    Law(parameters.one_holder, {"two optimisers": "two optimisers change a parameter"}, True),
    Law(
        parameters.copies_follow,
        {"stale copy": "a copy of parameters that never changes"},
        True,
    ),
    Law(results.cuts_meant, {"cut": "a way to the loss that detach() cuts"}, True),
    Law(
        parameters.holders_train,
        {"frozen in optimiser": "an optimiser holds frozen parameters"},
        True,
    ),
)


ANSWERS = tuple(law for law in LAWS if not law.is_remark and not law.unless)
LATE = tuple(law for law in LAWS if law.unless)
REMARKS = tuple(law for law in LAWS if law.is_remark)


def remarks(ledger: Ledger) -> Iterator[Cause]:
    """Yield what in a run breaks a law and may be meant, the weightiest first."""
    for law in REMARKS:
        yield from law.check(ledger)
