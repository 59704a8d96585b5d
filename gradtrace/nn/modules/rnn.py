"""Recurrent layers and cells, composed step by step of linear maps and gates.

A cell is a function of the input's gates and the hidden state; the layers run it over time, for
each layer and direction (formulas: https://pytorch.org/docs/stable/generated/torch.nn.LSTM.html).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.op import d, elementwise_op
from gradtrace.nn import functional as F
from gradtrace.nn import init
from gradtrace.nn.modules.module import Module
from gradtrace.nn.modules.utils import (
    add_parameter,
    function,
    new_parameter,
    store,
    tensor_of,
    unusual,
)

State = tuple[Any, ...]  # tensors: (h,) or (h, c)


def _lstm_step(gates: Tensor, state: State, w_hh: Tensor, b_hh: Tensor | None) -> State:
    h, c = state
    i, f, g, o = (F.linear(h, w_hh, b_hh) + gates).chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def _gru_step(gates: Tensor, state: State, w_hh: Tensor, b_hh: Tensor | None) -> State:
    h = state[0]
    r_in, z_in, n_in = gates.chunk(3, 1)
    r_hid, z_hid, n_hid = F.linear(h, w_hh, b_hh).chunk(3, 1)
    r = (r_hid + r_in).sigmoid()
    z = (z_hid + z_in).sigmoid()
    n = (n_in + n_hid * r).tanh()
    return ((h - n) * z + n,)


# Maps the index of the weights, the input, the state and whether it runs backwards to the outputs of
# all steps and the final state.
RunLayer = Callable[[int, Tensor, State, bool], "tuple[Tensor, State]"]
RecurrentStep = Callable[[Tensor, State, Tensor, "Tensor | None"], State]
# The function of one step and the number of gates per hidden unit, by mode.
MODES: dict[str, tuple[RecurrentStep, int]] = {
    "RNN_TANH": (
        lambda gates, state, w_hh, b_hh: ((F.linear(state[0], w_hh, b_hh) + gates).tanh(),),
        1,
    ),
    "RNN_RELU": (
        lambda gates, state, w_hh, b_hh: ((F.linear(state[0], w_hh, b_hh) + gates).relu(),),
        1,
    ),
    "LSTM": (_lstm_step, 4),
    "GRU": (_gru_step, 3),
}


# Marks a layer of a float32 LSTM, which is a single operator in PyTorch's graph on the CPU.
mkldnn_layer = elementwise_op(
    "mkldnn_rnn_layer(self)", lambda a: a, self=d("", lambda xp, g, out, self: g)
)


def gates_of(weights: dict[str, Any], input: Tensor) -> Tensor:
    """Return the contribution of the input (not of the hidden state) to the gates, for all steps at
    once.
    """
    return F.linear(input, weights["weight_ih"], weights.get("bias_ih"))


def is_single(x: Tensor) -> bool:
    """Whether a tensor is of single precision (float32) and not empty."""
    return x.dtype.name == "float32" and x.numel() > 0


def _zeros(input: Tensor, *shape: int) -> Tensor:
    return function("zeros")(*shape, dtype=input.dtype, device=input.device)


class RNNBase(Module):
    """Base class with the weights of all layers and directions, and the loop over them. `mode` is a
    key of MODES.
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        names = (
            "mode input_size hidden_size num_layers bias batch_first dropout bidirectional "
            "proj_size"
        )
        store(self, locals(), names)
        self._check_options()
        self.dropout = float(dropout)
        self._all_weights = [
            self._register_layer(layer, suffix, device, dtype)
            for layer in range(num_layers)
            for suffix in self._suffixes()
        ]
        self.reset_parameters()

    def _check_options(self) -> None:
        """Raise PyTorch's error for an invalid option; warn if dropout has no effect."""
        if (
            isinstance(self.dropout, bool)
            or not isinstance(self.dropout, (int, float))
            or not 0 <= self.dropout <= 1
        ):
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an "
                "element being zeroed"
            )
        if self.dropout > 0 and self.num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero "
                f"dropout expects num_layers greater than 1, but got dropout={self.dropout} and "
                f"num_layers={self.num_layers}",
                stacklevel=4,
            )
        for name, kind in (
            ("bias", bool),
            ("batch_first", bool),
            ("input_size", int),
            ("hidden_size", int),
        ):
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise TypeError(
                    f"{name} should be of type {kind.__name__}, got: {type(value).__name__}"
                )
        for name in ("input_size", "hidden_size", "num_layers"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.proj_size < 0:
            raise ValueError(
                "proj_size should be a positive integer or zero to disable projections"
            )
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in MODES:
            raise ValueError("Unrecognized RNN mode: " + self.mode)

    def _suffixes(self) -> tuple[str, ...]:
        return ("", "_reverse") if self.bidirectional else ("",)

    def _register_layer(self, layer: int, suffix: str, device: Any, dtype: Any) -> list[str]:
        """Create the weights of one layer in one direction; return their names."""
        out = self.proj_size or self.hidden_size
        width = self.input_size if layer == 0 else out * len(self._suffixes())
        gates = MODES[self.mode][1] * self.hidden_size
        shapes: dict[str, Any] = {"weight_ih": (gates, width), "weight_hh": (gates, out)}
        if self.bias:
            shapes.update(bias_ih=gates, bias_hh=gates)
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        names = [f"{kind}_l{layer}{suffix}" for kind in shapes]
        for name, shape in zip(names, shapes.values(), strict=True):
            setattr(self, name, new_parameter(shape, device, dtype))
        return names

    @property
    def all_weights(self) -> list[list[Any]]:
        return [[tensor_of(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    def flatten_parameters(self) -> None:
        """Do nothing; the weights need no flattening."""

    def reset_parameters(self) -> None:
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    # ---- the loop, in which time is the first dim

    def _check_input(self, input: Tensor) -> None:
        weight = tensor_of(self, self._all_weights[0][0])
        if input.dtype != weight.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). "
                f"Convert input: input.to({weight.dtype}), or convert model: "
                f"model.to({input.dtype})"
            )
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{input.size(-1)}"
            )

    def _check_state(self, state: State, batch: int) -> None:
        count = self.num_layers * len(self._suffixes())
        sizes = (self.proj_size or self.hidden_size, self.hidden_size)
        for i, tensor in enumerate(state):
            wanted = (count, batch, sizes[i])
            if tuple(tensor.shape) != wanted:
                which = f"hidden[{i}]" if self.mode == "LSTM" else "hidden"
                raise RuntimeError(f"Expected {which} size {wanted}, got {list(tensor.shape)}")

    def _first_state(self, input: Tensor, batch: int) -> State:
        count = self.num_layers * len(self._suffixes())
        h = _zeros(input, count, batch, self.proj_size or self.hidden_size)
        return (h, _zeros(input, count, batch, self.hidden_size)) if self.mode == "LSTM" else (h,)

    def _run(self, input: Tensor, state: State | None) -> tuple[Tensor, State]:
        """Map batched input, in the layer's order of dimensions, to the last layer's output and all
        final states.
        """
        time_first = input.transpose(0, 1) if self.batch_first else input
        batch = time_first.size(1)
        if not time_first.size(0):
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        if state is None:
            state = self._first_state(time_first, batch)
        self._check_input(input)
        self._check_state(state, batch)
        output, hidden = self._through_layers(time_first, state, self._run_layer)
        if self.batch_first:
            output = output.transpose(0, 1) if self.mode == "LSTM" else output.transpose_(0, 1)
        return output, hidden

    def _through_layers(
        self, output: Tensor, state: State, one_layer: RunLayer
    ) -> tuple[Tensor, State]:
        """Run all layers in both directions; return the last output and the final states."""
        finals = []
        for layer in range(self.num_layers):
            directions = []
            for reverse in range(len(self._suffixes())):
                index = layer * len(self._suffixes()) + reverse
                steps, final = one_layer(
                    index, output, tuple(s[index] for s in state), bool(reverse)
                )
                directions.append(steps)
                finals.append(final)
            output = function("cat")(directions, -1) if self.bidirectional else directions[0]
            if self.dropout and layer < self.num_layers - 1:
                output = F.dropout(output, self.dropout, self.training)
        return output, tuple(
            function("stack")([final[i] for final in finals], 0) for i in range(len(state))
        )

    def _run_layer(
        self, index: int, input: Tensor, state: State, reverse: bool
    ) -> tuple[Tensor, State]:
        weights = self._weights(index)
        gates = gates_of(weights, input).unbind(0)
        outputs: list[Tensor] = []
        for gate in reversed(gates) if reverse else gates:
            state = self._one_step(weights, gate, state)
            outputs.append(state[0])
        output = function("stack")(outputs[::-1] if reverse else outputs, 0)
        if (
            self.mode == "LSTM"
            and not self.bidirectional
            and not self.proj_size
            and is_single(output)
        ):
            output = mkldnn_layer(output)
        return output, state

    def _weights(self, index: int) -> dict[str, Any]:
        return {name.split("_l")[0]: tensor_of(self, name) for name in self._all_weights[index]}

    def _one_step(self, weights: dict[str, Any], gate: Tensor, state: State) -> State:
        state = MODES[self.mode][0](gate, state, weights["weight_hh"], weights.get("bias_hh"))
        return (F.linear(state[0], weights["weight_hr"]), *state[1:]) if self.proj_size else state

    def _forward(self, input: Tensor, state: State | None, name: str) -> tuple[Tensor, State]:
        """Run the layer; add and remove the batch dimension of an unbatched input."""
        if isinstance(input, tuple) and hasattr(input, "sorted_indices"):
            from gradtrace.nn.modules.rnn_packed import run_packed

            return run_packed(self, input, state)
        if input.dim() not in (2, 3):
            tail = "tensor instead" if name == "RNN" else "instead"
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D {tail}")
        batched = input.dim() == 3
        if state is not None:
            self._check_state_dims(state, batched)
        if batched:
            return self._run(input, state)
        dim = 0 if self.batch_first else 1
        state = None if state is None else tuple(s.unsqueeze(1) for s in state)
        output, final = self._run(input.unsqueeze(dim), state)
        return output.squeeze(dim), tuple(s.squeeze(1) for s in final)

    def _check_state_dims(self, state: State, batched: bool) -> None:
        wanted = 3 if batched else 2
        dims = [s.dim() for s in state]
        if all(d == wanted for d in dims):
            return
        kind = "batched 3-D" if batched else "unbatched 2-D"
        if len(dims) == 2:
            raise RuntimeError(
                f"For {kind} input, hx and cx should also be {wanted}-D but got ({dims[0]}-D, "
                f"{dims[1]}-D) tensors"
            )
        raise RuntimeError(
            f"For {kind} input, hx should also be {wanted}-D but got {dims[0]}-D tensor"
        )

    def extra_repr(self) -> str:
        options = unusual(
            self,
            proj_size=0,
            num_layers=1,
            bias=True,
            batch_first=False,
            dropout=0,
            bidirectional=False,
        )
        return f"{self.input_size}, {self.hidden_size}{options}"


def _no_projection(kwargs: dict[str, Any]) -> None:
    if "proj_size" in kwargs:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """Elman network: h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu in place of tanh.

    Input (L, N, in) and h (layers, N, hid) to (L, N, hid) and the final h.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _no_projection(kwargs)
        if len(args) > 3:
            nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        output, state = self._forward(input, None if hx is None else (hx,), "RNN")
        return output, state[0]


class LSTM(RNNBase):
    """Long short-term memory: input (L, N, in) and (h, c) to (L, N, hid) and (h, c)."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def forward(self, input: Tensor, hx: State | None = None) -> tuple[Tensor, State]:
        return self._forward(input, None if hx is None else (hx[0], hx[1]), "LSTM")


class GRU(RNNBase):
    """Gated recurrent unit: input (L, N, in) and h to (L, N, hid) and h."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _no_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        output, state = self._forward(input, None if hx is None else (hx,), "GRU")
        return output, state[0]


class RNNCellBase(Module):
    """Base class of cells: the weights of one step, and shape checks."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        store(self, locals(), "input_size hidden_size bias")
        gates = num_chunks * hidden_size
        self.weight_ih = new_parameter((gates, input_size), device, dtype)
        self.weight_hh = new_parameter((gates, hidden_size), device, dtype)
        for name in ("bias_ih", "bias_hh"):
            add_parameter(self, name, gates if bias else None, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def _step(self, input: Tensor, state: State | None, mode: str) -> State:
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for i, s in enumerate(state or ()):
            if s.dim() not in (1, 2):
                which = f"hx[{i}]" if mode == "LSTM" else "hidden"
                raise ValueError(f"{name}: Expected {which} to be 1D or 2D, got {s.dim()}D instead")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
            state = None if state is None else tuple(s.unsqueeze(0) for s in state)
        if state is None:
            zeros = _zeros(input, input.size(0), self.hidden_size)
            state = (zeros, zeros) if mode == "LSTM" else (zeros,)
        self._check_shapes(input, state)
        gates = F.linear(input, self.weight_ih, self.bias_ih)
        result = MODES[mode][0](gates, state, self.weight_hh, self.bias_hh)
        return result if batched else tuple(s.squeeze(0) for s in result)

    def _check_shapes(self, input: Tensor, state: State) -> None:
        if input.size(1) != self.input_size:
            raise RuntimeError(
                f"input has inconsistent input_size: got {input.size(1)} expected {self.input_size}"
            )
        for i, s in enumerate(state):
            if s.size(0) != input.size(0):
                raise RuntimeError(
                    f"Input batch size {input.size(0)} doesn't match hidden{i} batch size "
                    f"{s.size(0)}"
                )
            if s.size(1) != self.hidden_size:
                raise RuntimeError(
                    f"hidden{i} has inconsistent hidden_size: got {s.size(1)}, expected "
                    f"{self.hidden_size}"
                )


class RNNCell(RNNCellBase):
    """One step of RNN: (N, in) and (N, hid) to (N, hid); N may be omitted."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        mode = f"RNN_{self.nonlinearity.upper()}"
        return self._step(input, None if hx is None else (hx,), mode)[0]


class LSTMCell(RNNCellBase):
    """One step of LSTM: (N, in) and (h, c) to (h, c)."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: State | None = None) -> State:
        if isinstance(hx, Tensor):
            raise TypeError(
                "lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not Tensor"
            )
        return self._step(input, hx, "LSTM")


class GRUCell(RNNCellBase):
    """One step of GRU: (N, in) and (N, hid) to (N, hid)."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(input, None if hx is None else (hx,), "GRU")[0]
