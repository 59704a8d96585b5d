"""The state before a training step, saved cheaply at each step, so that the step can be repeated."""

from __future__ import annotations

import ctypes
import random
import sys
import weakref
from typing import Any

import torch

from gradtrace.torch import private


class State:
    """The state before a step: buffers, gradients, random state, and the parameters that an update would change.

    One object is used for all steps, and so is the memory of its copies. Parameters change only in an update, and
    `keep` copies them before it if needed.
    """

    def __init__(self, modules: list[Any], generators: list[Any]) -> None:
        self.parameters = list({id(p): p for m in modules for p in m.parameters()}.values())
        inner = {id(one): one for m in modules for one in m.modules()}
        self.owners = [found for one in inner.values() if (found := private.buffers_of(one))]
        self.assigned: list[dict[str, Any]] = []  # the buffers of each owner, since a step may assign new ones
        self.buffers = Copies()
        self.gradients = Gradients(self.parameters)
        self.generators = generators
        self.random: Any = None
        self.kept: list[tuple[Any, Any]] = []

    def save(self) -> None:
        self.assigned = [dict(owner) for owner in self.owners]
        self.buffers.take([b for owner in self.assigned for b in owner.values() if b is not None])
        self.gradients.save()
        self.random = random_state(self.generators)

    def keep(self, parameters: list[Any]) -> None:
        """Copy parameters that an update is about to change."""
        self.kept += [(p, p.detach().clone()) for p in parameters]

    def restore(self) -> After:
        """Restore everything, and return the state after the step."""
        after = After(self)
        for owner, assigned in zip(self.owners, self.assigned, strict=True):
            owner.update(assigned)
        buffers = [b for owner in self.assigned for b in owner.values() if b is not None]
        write([*zip(buffers, self.buffers.values, strict=True), *self.kept])
        self.gradients.restore()
        set_random_state(self.random)
        return after

    def forget(self) -> None:
        """End a step: let go of its tensors."""
        self.gradients.end()
        self.assigned = []
        self.kept = []


class After:
    """The state after a step, which is restored after the step's repetition."""

    def __init__(self, before: State) -> None:
        self.assigned = [(owner, dict(owner)) for owner in before.owners]
        buffers = [b for one in (*before.assigned, *before.owners) for b in one.values() if b is not None]
        written = {id(t): t for t in (*buffers, *(p for p, _ in before.kept))}
        self.values = [(t, t.detach().clone()) for t in written.values()]
        self.grads = [(p, p.grad, None if p.grad is None else p.grad.detach().clone()) for p in before.parameters]
        self.generators = before.generators
        self.random = random_state(self.generators)

    def put_back(self) -> None:
        for owner, assigned in self.assigned:
            owner.update(assigned)
        write([*self.values, *((grad, copy) for _, grad, copy in self.grads if grad is not None)])
        for parameter, grad, _ in self.grads:
            parameter.grad = grad
        set_random_state(self.random)


class Gradients:
    """The gradients of parameters before a step.

    A step that clears them (`zero_grad`) or leaves them alone needs no copies of them, and references to them would
    take memory while it runs. One that adds to them or sets them to zero changes their version. So they are copied
    until a step has been seen that found gradients and did not change them; and always, once a step has changed them.
    """

    def __init__(self, parameters: list[Any]) -> None:
        self.parameters = parameters
        self.owners: list[Any] = []  # the parameters that have a gradient
        self.known: list[Any] = []  # weak references to these gradients
        self.versions: list[int] = []
        self.held: list[Any] = []
        self.changing: bool | None = None  # whether steps change gradients that they find; None: not known yet
        self.copies = Copies()
        self.lost = 0  # gradients that could not be restored

    def save(self) -> None:
        found = [(p, g) for p in self.parameters if (g := p.grad) is not None]
        self.owners, grads = [p for p, _ in found], [g for _, g in found]
        self.known = list(map(weakref.ref, grads))
        self.versions = private.versions_of(grads)
        # backward replaces a sparse gradient, or one with a graph, by a sum; its version does not show that
        self.held = [g for g in grads if self.changing is None or g.requires_grad or g.is_sparse]
        self.copies.take([] if self.changing is False else grads)

    def restore(self) -> None:
        """Restore each gradient by its copy; or by reference, as None if the step has discarded it."""
        lost = [] if self.copies.values else self.changed()
        values = [copy.clone() for copy in self.copies.values] or [known() for known in self.known]
        for parameter in self.parameters:
            parameter.grad = None
        for parameter, grad in zip(self.owners, values, strict=True):
            parameter.grad = grad
        for parameter in lost:
            parameter.grad = torch.zeros_like(parameter.grad)
        self.lost = len(lost)

    def changed(self) -> list[Any]:
        """Return the parameters whose gradient from before the step exists and was changed in it."""
        now = zip(self.owners, self.known, self.versions, strict=True)
        return [p for p, known, version in now if (g := known()) is not None and private.version_of(g) != version]

    def end(self) -> None:
        """Learn from a step whether the next gradients must be copied."""
        if not self.changing and self.owners:
            self.changing = bool(self.changed())
        self.held = []


class Copies:
    """Copies of tensors; their memory is used again for the next tensors of the same shapes and types."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.shapes: list[Any] = []
        self.types: list[Any] = []

    def take(self, tensors: list[Any]) -> None:
        shapes, types = [t.shape for t in tensors], [t.dtype for t in tensors]
        if shapes != self.shapes or types != self.types:
            self.values = [t.detach().clone() for t in tensors]
            self.shapes, self.types = shapes, types
        elif tensors:
            private.copy_each(self.values, [t.detach() if t.requires_grad else t for t in tensors])


def write(pairs: list[tuple[Any, Any]]) -> None:
    """Write copies into their tensors where they differ; a tensor that was expanded could not be written."""
    for tensor, copy in pairs:
        if tensor.layout is not torch.strided or not torch.equal(tensor.detach(), copy):
            tensor.data.copy_(copy)


def random_state(generators: list[Any]) -> Any:
    """Return the state of PyTorch's, Python's and numpy's random numbers, and of generators of the program's own."""
    on_gpu = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None  # type: ignore[no-untyped-call]
    own = [(one, one.get_state()) for one in generators]
    return torch.get_rng_state(), on_gpu, random.getstate(), of_numpy.read(), own


def set_random_state(state: Any) -> None:
    on_cpu, on_gpu, python, numpy_state, own = state
    torch.set_rng_state(on_cpu)
    if on_gpu is not None:
        torch.cuda.set_rng_state_all(on_gpu)
    random.setstate(python)
    if numpy_state is not None:
        sys.modules["numpy"].random.set_state(numpy_state)
    for generator, one in own:
        generator.set_state(one)


class NumpyState:
    """The state of numpy's global random numbers, if numpy is loaded.

    `get_state` converts 624 words one by one, which takes longer than the states of all others. So it is called only if
    the words in memory are other ones than at the call before, or if there is also a normal number kept for the next
    draw, which is used up without a change of the words.
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
