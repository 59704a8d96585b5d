"""Calls of the program's autograd Functions, each recorded as one operator.

`applied` replaces Function.apply. It is not called if the program stored the original (swish =
Swish.apply) and that is a function in C, as in PyTorch 2.15. `lookup` sees such a call because C
code asks the class for `_backward_cls` and then for `forward`; the results get their history when
the C code ends, so they are recorded with the next event (`settle`).
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from gradtrace.torch import escapes, functions, operators, private
from gradtrace.torch.operands import knowns_in
from gradtrace.trace.events import Call

if TYPE_CHECKING:
    from gradtrace.torch.recorder import Recorder


class Unsettled(NamedTuple):
    """A call whose results are not recorded yet, and weak references to these results."""

    call: Call
    results: list[Any]


class AskedFunction(threading.local):
    """The Function that C code is about to call in this thread, and whether gradients are
    enabled.
    """

    function: Any = None
    grad_enabled = False


def is_unseen(rec: Recorder) -> bool:
    """Whether a call of a Function is not recorded: in another Function, in a transform, in another
    thread.
    """
    if not rec.is_on() or private.in_transform():
        return True
    return threading.get_ident() != rec.thread and not rec.watching


def applied(rec: Recorder) -> Any:
    """Return a Function.apply that is recorded as one operator; the calls in its forward are not
    part of the graph.
    """

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        inner = private.apply_of(cls)
        if is_unseen(rec):
            return inner(*args, **kwargs)

        def unrecorded(*args: Any, **kwargs: Any) -> Any:
            with rec.unrecorded():
                return inner(*args, **kwargs)

        keep_first_call(rec, cls, args, kwargs, torch.is_grad_enabled())
        settle(rec)
        return operators.operate(rec, unrecorded, args, kwargs, cls.__name__)

    return apply


def lookup(rec: Recorder) -> Any:
    """Return a `__getattribute__` for classes of Functions that replaces `forward` if C code asks
    for it to call it.
    """
    plain = type.__getattribute__
    asked = AskedFunction()

    def __getattribute__(cls: Any, name: str) -> Any:
        attribute = plain(cls, name)
        if name == private.FUNCTION_NODE:
            asked.function = None if is_unseen(rec) else cls
            asked.grad_enabled = torch.is_grad_enabled()
        elif name == "forward" and asked.function is cls:
            asked.function = None
            return watched_forward(rec, cls, attribute, asked.grad_enabled)
        return attribute

    return __getattribute__


def watched_forward(rec: Recorder, cls: Any, forward: Any, grad_enabled: bool) -> Any:
    """Return a `forward` that notes the call, to be recorded when its results have their
    history.
    """

    def run(*args: Any, **kwargs: Any) -> Any:
        # without ctx
        inputs = (
            args[1:] if args and isinstance(args[0], getattr(cls, private.FUNCTION_NODE)) else args
        )
        keep_first_call(rec, cls, inputs, kwargs, grad_enabled)
        settle(rec)
        call = None
        with private.without_torch_function(), rec.lock:
            try:
                call = operators.begin(rec, cls.__name__, inputs, kwargs)
                call.origin = rec.places.here(2)
                call.grad_enabled = grad_enabled
            except Exception as error:
                rec.problem(f"a call of {cls.__name__} ({type(error).__name__})")
        with rec.unrecorded():
            out = forward(*args, **kwargs)
        if call is not None:
            rec.unsettled = Unsettled(
                call, [weakref.ref(tensor) for tensor in operators.tensors_in(out)]
            )
        return out

    return run


def view_of_result(rec: Recorder, func: Any, args: Any) -> Any:
    """Settle the last Function before another call is recorded; return the call's result if it
    belongs to the Function.

    C code calls `x.view_as(x)` for a result x that is an operand of the Function: the view is the
    result.
    """
    last = rec.unsettled
    if last is not None and func is torch.Tensor.view_as and args[0] is args[1]:
        operands = [identity.ref() for identity in knowns_in(last.call.args)]
        for place, ref in enumerate(last.results):
            if ref() is args[0] and any(operand is args[0] for operand in operands):
                view = func(*args)
                last.results[place] = weakref.ref(view)
                return view
    settle(rec)
    return None


def settle(rec: Recorder) -> None:
    """Record the results of the last Function that was called through a stored `apply`."""
    last = rec.unsettled
    rec.unsettled = None
    if last is None:
        return
    with private.without_torch_function(), rec.lock:
        try:
            results = tuple(tensor for ref in last.results if (tensor := ref()) is not None)
            operators.finish(rec, last.call, (), {}, results)
        except Exception as error:
            rec.problem(f"the results of {last.call.name} ({type(error).__name__})")


def keep_first_call(rec: Recorder, cls: Any, args: Any, kwargs: Any, grad_enabled: bool) -> None:
    """Keep the arguments of the first differentiable call of one of the program's own Functions,
    for its check.
    """
    if (
        rec.level == "structure"
        or cls.__name__ in rec.functions
        or not grad_enabled
        or rec.watching
    ):
        return
    if cls.__module__.startswith("torch."):
        return

    def note() -> None:
        rec.functions[cls.__name__] = functions.first_call(cls, args, kwargs, rec.places.here(4))

    with private.without_torch_function(), private.without_torch_dispatch(), torch.no_grad():
        escapes.guarded(rec, note, cls.__name__)
