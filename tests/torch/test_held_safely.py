"""Looking at what a program's variables hold runs none of its code, and gives no names that are not true."""

import io
import random

import pytest

torch = pytest.importorskip("torch")

import gradtrace.torch as gt  # noqa: E402


class Rows(dict):
    def values(self):
        raise RuntimeError("rows are read by name")


class Answering:
    @property
    def __dict__(self):
        raise RuntimeError("the program's own code")


class Half(torch.nn.Module):
    def __init__(self):
        pass


class Fields(tuple):
    _fields = 3


class Hidden:
    def __init__(self, net):
        self.__dict__["net"] = net

    @property
    def net(self):
        return torch.nn.Linear(5, 5)


class Descent:
    def __init__(self, parameters):
        self.parameters = list(parameters)


@pytest.mark.parametrize(
    "make",
    [
        lambda w: Rows(a=w),
        lambda w: Answering(),
        lambda w: [Answering()],
        lambda w: {"m": Half()},
        lambda w: Half(),
        lambda w: Fields((w,)),
        lambda w: Descent([w]),
    ],
)
def test_a_parameter_keeps_the_name_of_its_variable(make):
    w = torch.nn.Parameter(torch.ones(3))
    held = make(w)
    with gt.record() as recorded:
        (w * 2).sum().backward()
    assert recorded.trace().tensors[0].label == "w"
    del held


def test_a_property_is_not_what_the_instance_holds():
    inner = [Hidden(torch.nn.Linear(2, 1))]
    with gt.record() as recorded:
        vars(inner[0])["net"](torch.ones(1, 2)).sum().backward()
    assert not [one.label for one in recorded.trace().tensors if ".net." in one.label]


def test_objects_are_found_beside_long_lists_of_data():
    rows = [[0] * 1000 for _ in range(3000)]
    more = [{"id": i, "labels": [1, 2]} for i in range(3000)]
    parts = [torch.nn.Linear(2, 1)]
    with gt.record() as recorded:
        parts[0](torch.ones(1, 2)).sum().backward()
    assert "parts[0].weight" in [one.label for one in recorded.trace().tensors]
    assert len(rows) == len(more)


class Wheel(random.Random):
    def getstate(self):
        raise NotImplementedError("no state")


def test_a_generator_without_a_state_is_not_a_fault_of_the_training():
    wheel, w, out = Wheel(), torch.ones(2, requires_grad=True), io.StringIO()

    @gt.guard(out=out)
    def step(x):
        loss = (w * x).sum() + wheel.random()
        loss.backward()
        return loss

    assert step(1.0).isfinite()
    assert not out.getvalue()
    step(float("nan"))
    assert (
        "this step was not repeated, since the state of a generator of random numbers cannot be read"
        in out.getvalue()
    )
    assert "Wheel: NotImplementedError: no state" in out.getvalue()
