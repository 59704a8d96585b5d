"""Recurrent layers on a PackedSequence: the batch shrinks as sequences end, and grows in the
reverse direction.
"""

from __future__ import annotations

from typing import Any

from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn.modules.rnn import gates_of
from gradtrace.nn.modules.utils import function
from gradtrace.nn.utils.packing import PackedSequence

State = tuple[Any, ...]


def run_packed(
    layer: Any, packed: PackedSequence, state: State | None
) -> tuple[PackedSequence, State]:
    """Run `layer`, an RNNBase, on packed input; return packed output and the final states."""
    data, batch_sizes, order, back = packed
    sizes = batch_sizes.tolist()
    if state is None:
        state = layer._first_state(data, sizes[0])
    elif order is not None:
        state = tuple(s.index_select(1, order) for s in state)
    layer._check_input(data)
    layer._check_state(state, sizes[0])

    def one_layer(index: int, input: Tensor, state: State, reverse: bool) -> tuple[Tensor, State]:
        steps, final = (backwards if reverse else forwards)(layer, index, input, sizes, state)
        return function("cat")(steps, 0), final

    output, hidden = layer._through_layers(data, state, one_layer)
    if back is not None:
        hidden = tuple(h.index_select(1, back) for h in hidden)
    return PackedSequence(output, batch_sizes, order, back), hidden


def forwards(
    layer: Any, index: int, data: Tensor, sizes: list[int], state: State
) -> tuple[list[Tensor], State]:
    """Return the outputs of all steps, and the final states, starting with the longest sequence."""
    weights = layer._weights(index)
    steps = []
    ended = []
    for gates in gates_of(weights, data).split(sizes):
        n = gates.size(0)
        if n < state[0].size(0):
            ended.append(tuple(s[n:] for s in state))
            state = tuple(s[:n] for s in state)
        state = layer._one_step(weights, gates, state)
        steps.append(state[0])
    ended.append(state)
    if len(ended) == 1:
        return steps, state
    return steps, tuple(
        function("cat")([part[i] for part in reversed(ended)], 0) for i in range(len(state))
    )


def backwards(
    layer: Any, index: int, data: Tensor, sizes: list[int], first: State
) -> tuple[list[Tensor], State]:
    """Do the same as `forwards` from the last step, where only the longest sequences are active, to
    the first.
    """
    weights = layer._weights(index)
    steps: list[Tensor] = []
    state = tuple(s[: sizes[-1]] for s in first)
    for gates in reversed(gates_of(weights, data).split(sizes)):
        n = gates.size(0)
        have = state[0].size(0)
        if n > have:
            state = tuple(
                function("cat")([s, f[have:n]], 0) for s, f in zip(state, first, strict=True)
            )
        state = layer._one_step(weights, gates, state)
        steps.append(state[0])
    return steps[::-1], state
