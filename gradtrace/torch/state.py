"""The state before a training step, saved cheaply at each step, so that a copy of the process can
repeat the step.
"""

from __future__ import annotations

import ctypes
import random
import sys
import weakref
from typing import Any

import torch

from gradtrace.torch import private
from gradtrace.torch.generators import is_generator, set_state, state_of
from gradtrace.torch.passes import text_of
from gradtrace.torch.reach import Reach, Variables

CHANGES = -1  # stands for the version of a gradient to which every step adds; no tensor has it


class State:
    """The state before a step: variables, parameters that steps change without an optimiser, and
    `SavedNumbers`.

    One object is used for all steps, and so is the memory of its copies. Those parameters that an
    optimiser updates need no copies: the step is repeated from the moment before their update.
    """

    @private.modeless
    def __init__(self, reach: Reach) -> None:
        self.parameters = reach.leaves()
        named = {id(parameter) for _, parameter in reach.named_parameters()}
        self.named = [parameter for parameter in self.parameters if id(parameter) in named]
        self.arguments: list[Any] = []  # leaf tensors that the step was given
        self.by_hand = UpdatesByHand(self.parameters)
        self.variables = Variables(reach.holders)
        self.numbers = SavedNumbers(reach, self.parameters)
        # when an optimiser called its closure again
        self.at_call = SavedNumbers(reach, self.parameters)

    @private.modeless
    def save(self, args: Any) -> None:
        self.variables.save(args)
        self.by_hand.save()
        self.arguments = [argument for argument in args if is_trained(argument)]
        self.numbers.save(self.arguments)

    @private.modeless
    def restore(self, args: Any) -> Any:
        """Restore everything, in a copy of the process; return the arguments of the step."""
        self.by_hand.restore()
        self.numbers.restore()
        return self.variables.restore(args)

    @private.modeless
    def forget(self, updated: set[int]) -> None:
        """End a step that has updated parameters by optimisers (by their ids): let go of its
        tensors.
        """
        self.numbers.forget()
        self.at_call.forget()
        self.by_hand.end(updated)
        self.variables.forget()
        self.arguments = []

    def checked(self) -> list[Any]:
        """Return the tensors whose gradients this step computes, as far as that is known."""
        return [*self.named, *self.arguments]


class SavedNumbers:
    """Buffers, gradients, scalers and random state."""

    def __init__(self, reach: Reach, parameters: list[Any]) -> None:
        self.parameters = parameters
        inner = {
            id(module): module for m in reach.of_type(torch.nn.Module) for module in m.modules()
        }
        self.owners = [
            buffers for module in inner.values() if (buffers := private.buffers_of(module))
        ]
        # the buffers of each owner, since a step may assign new ones
        self.assigned: list[dict[str, Any]] = []
        self.buffers = Copies()
        self.gradients = Gradients(parameters)
        self.generators = list(
            {
                id(variable): variable for _, variable in reach.values() if is_generator(variable)
            }.values()
        )
        self.scalers = [
            scaler for scaler in reach.of_type(torch.amp.GradScaler) if scaler.is_enabled()
        ]
        self.scales: list[Any] = []
        self.random: Any = None
        self.unreadable = ""  # the generator whose state could not be read, and why

    def save(self, arguments: list[Any]) -> None:
        """Save the numbers, also the gradients of tensors that the step was given."""
        self.gradients.parameters = [*self.parameters, *arguments] if arguments else self.parameters
        self.assigned = [dict(owner) for owner in self.owners]
        self.buffers.take([b for owner in self.assigned for b in owner.values() if b is not None])
        self.gradients.save()
        self.scales = [
            (s, s.state_dict(), {k: dict(v) for k, v in scaled(s).items()}) for s in self.scalers
        ]
        self.random = random_state(self.states_of_own())

    def states_of_own(self) -> list[tuple[Any, Any]]:
        """Return the program's generators and their states. A class of the program may be unable to
        say its state.
        """
        states = []
        for generator in self.generators:
            try:
                states.append((generator, state_of(generator)))
            except Exception as error:
                self.unreadable = f"{type(generator).__name__}: {text_of(error)}"
        return states

    def restore(self) -> None:
        for owner, assigned in zip(self.owners, self.assigned, strict=True):
            owner.update(assigned)
        buffers = [b for owner in self.assigned for b in owner.values() if b is not None]
        write(list(zip(buffers, self.buffers.values, strict=True)))
        self.gradients.restore()
        for scaler, state, of_optimizers in self.scales:
            scaler.load_state_dict(state)
            scaled(scaler).clear()
            scaled(scaler).update(of_optimizers)
        set_random_state(self.random)

    def forget(self) -> None:
        self.gradients.end()
        self.gradients.parameters = self.parameters
        self.assigned = []


def is_trained(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad and value.is_leaf


def scaled(scaler: Any) -> Any:
    """Return what a GradScaler knows about the optimisers of the present step."""
    return private.states_of_optimizers(scaler)


class UpdatesByHand:
    """The parameters that steps change without an optimiser: p -= lr * p.grad.

    They are copied before each step from the second one on. A change shows in a parameter's
    version, or, if it was made through `.data`, in its norm, which is compared until a step has
    made an update of any kind.
    """

    def __init__(self, parameters: list[Any]) -> None:
        self.parameters = parameters
        self.versions: list[int] = []
        self.norms: list[float] | None = None
        self.is_known = False  # how parameters are updated
        self.changing: dict[int, Any] = {}
        self.copies = Copies()

    def save(self) -> None:
        self.versions = private.versions_of(self.parameters)
        self.norms = None if self.is_known else norms_of(self.parameters)
        self.copies.take(list(self.changing.values()))

    def changed(self, updated: set[int]) -> list[Any]:
        """Return the parameters that this step has changed, except by these updates of
        optimisers.
        """
        now = private.versions_of(self.parameters)
        if now == self.versions and self.norms is None:
            return []
        places = [i for i, p in enumerate(self.parameters) if id(p) not in updated]
        norms = norms_of(self.parameters) if places and self.norms is not None else None
        moved = {i for i in places if now[i] != self.versions[i]}
        if norms is not None and self.norms is not None:
            moved |= {i for i in places if norms[i] != self.norms[i] and norms[i] == norms[i]}
        return [self.parameters[i] for i in places if i in moved]

    def lost(self, updated: set[int]) -> list[Any]:
        """Return the parameters whose values from before the step are not known."""
        return [p for p in self.changed(updated) if id(p) not in self.changing]

    def restore(self) -> None:
        write(list(zip(self.changing.values(), self.copies.values, strict=True)))

    def end(self, updated: set[int]) -> None:
        changed = self.changed(updated)
        self.changing.update((id(p), p) for p in changed)
        self.is_known = self.is_known or bool(updated or changed)


def norms_of(parameters: list[Any]) -> list[float] | None:
    """Return the norm of each parameter; None if one of them has no norm, or no memory on the
    CPU.
    """
    if not all(p.is_cpu and p.layout is torch.strided for p in parameters):
        return None
    try:
        return [float(norm) for norm in private.norms([p.detach() for p in parameters])]
    except (RuntimeError, TypeError):
        return None


class Gradients:
    """The gradients of parameters before a step.

    A step that clears them (`zero_grad`) or leaves them alone needs no copies of them, and
    references to them would take memory while it runs. One that adds to them or sets them to zero
    changes their version. So they are copied until a step has been seen that found gradients and
    did not change them; and always, once a step has changed them.

    With `are_summed` a step only adds the gradients of a batch to them, and an update uses the sum.
    They are never copied then: the repetition computes the gradients of its batch alone.
    """

    are_summed = False

    def __init__(self, parameters: list[Any]) -> None:
        self.parameters = parameters
        self.owners: list[Any] = []  # the parameters that have a gradient
        self.references: list[Any] = []  # weak references to these gradients
        self.versions: list[int] = []
        self.held: list[Any] = []
        # whether steps change gradients that they find; None: not known yet
        self.changing: bool | None = None
        self.copies = Copies()
        self.lost: list[Any] = []  # parameters whose gradient could not be restored

    def save(self) -> None:
        pairs = [(p, g) for p in self.parameters if (g := p.grad) is not None]
        self.owners = [p for p, _ in pairs]
        grads = [g for _, g in pairs]
        self.references = list(map(weakref.ref, grads))
        if self.are_summed:
            self.versions = [CHANGES] * len(grads)
            return
        self.versions = private.versions_of(grads)
        # backward replaces a sparse gradient, or one with a graph, by a sum; its version does not
        # show that
        self.held = [g for g in grads if self.changing is None or g.requires_grad or g.is_sparse]
        self.copies.take([] if self.changing is False else grads)

    def restore(self) -> None:
        """Restore each gradient by its copy; or by reference, as None if the step has discarded
        it.
        """
        self.note_lost()
        values = [copy.clone() for copy in self.copies.values] or list(
            map(private.tensor_of, self.references)
        )
        for parameter in self.parameters:
            parameter.grad = None
        if self.are_summed:
            return
        for parameter, grad in zip(self.owners, values, strict=True):
            parameter.grad = grad
        for parameter in self.lost:
            parameter.grad = torch.zeros_like(parameter)

    def note_lost(self) -> None:
        """Note the parameters whose gradient has been changed without a copy. A step may discard it
        later.
        """
        if not self.copies.values:
            self.lost = list({id(p): p for p in (*self.lost, *self.changed())}.values())

    def changed(self) -> list[Any]:
        """Return the parameters whose gradient from before the step exists and was changed in
        it.
        """
        now = zip(self.owners, self.references, self.versions, strict=True)
        return [
            p
            for p, reference, version in now
            if (g := reference()) is not None and private.version_of(g) != version
        ]

    def end(self) -> None:
        """Learn from a step whether the next gradients must be copied."""
        if not self.changing and self.owners and not self.are_summed:
            self.changing = bool(self.changed())
        self.held = []


class Copies:
    """Copies of tensors; their memory is used again for the next tensors of the same shapes and
    types, also after a step that has none.
    """

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.memory: list[Any] = []
        self.shapes: list[Any] = []
        self.types: list[Any] = []

    def take(self, tensors: list[Any]) -> None:
        if not tensors:
            self.values = []
            return
        shapes = [t.shape for t in tensors]
        types = [(t.dtype, t.layout) for t in tensors]
        if shapes != self.shapes or types != self.types:
            self.memory = [t.detach().clone() for t in tensors]
            self.shapes = shapes
            self.types = types
        else:
            private.copy_each(self.memory, [t.detach() if t.requires_grad else t for t in tensors])
        self.values = self.memory


def write(pairs: list[tuple[Any, Any]]) -> None:
    """Write copies into their tensors where they differ; a tensor that was expanded could not be
    written.
    """
    for tensor, copy in pairs:
        if tensor.layout is not torch.strided or not torch.equal(tensor.detach(), copy):
            tensor.data.copy_(copy)


def random_state(own: list[tuple[Any, Any]]) -> Any:
    """Return the state of PyTorch's, Python's and numpy's random numbers, and of the given
    generators.
    """
    on_gpu = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None  # type: ignore[no-untyped-call]
    return torch.get_rng_state(), on_gpu, random.getstate(), of_numpy.read(), own


def set_random_state(state: Any) -> None:
    on_cpu, on_gpu, python, numpy_state, own = state
    torch.set_rng_state(on_cpu)
    if on_gpu is not None:
        torch.cuda.set_rng_state_all(on_gpu)
    random.setstate(python)
    if numpy_state is not None:
        sys.modules["numpy"].random.set_state(numpy_state)
    for generator, own_state in own:
        set_state(generator, own_state)


class NumpyState:
    """The state of numpy's global random numbers, if numpy is loaded.

    `get_state` converts 624 words one by one, which takes longer than the states of all others. So
    it is called only if the words in memory are other ones than at the call before, or if there is
    also a normal number kept for the next draw, which is used up without a change of the words.
    """

    SIZE = 4 * 624 + 4  # bytes of the words and of the position among them

    def __init__(self) -> None:
        self.generator: Any = None
        self.memory: Any = None  # of the generator's words
        self.words = b""
        self.state: Any = None

    def read(self) -> Any:
        numpy = sys.modules.get("numpy")
        if numpy is None:
            return None
        find = getattr(numpy.random, "get_bit_generator", None)  # numpy 1.24
        generator = find() if find else None
        if generator is None or type(generator) is not numpy.random.MT19937:
            return numpy.random.get_state(legacy=False)
        if generator is not self.generator:
            self.generator = generator
            self.memory = (ctypes.c_char * self.SIZE).from_address(generator.ctypes.state_address)
        words = self.memory.raw
        if words != self.words or self.state["has_gauss"]:
            self.words, self.state = words, numpy.random.get_state(legacy=False)
        return self.state


of_numpy = NumpyState()
