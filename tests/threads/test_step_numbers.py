"""The step that an answer names has the numbers of the program's own loops, or is said to be counted."""

import pytest

START = """\
import torch
w = torch.tensor([1.0], requires_grad=True)
optimiser = torch.optim.SGD([w], lr=10.0)
data = [1.0] * 12
def update(x):
    optimiser.zero_grad()
    loss = (w**4).sum() * x
    loss.backward()
    optimiser.step()
"""
LOOPS = {
    "for i in range(12):\n    update(1.0)\n": "step 1 (i=0) to 3.169e+25 in step 3 (i=2) and is inf in step 4 (i=3).",
    "for i in range(136, 148):\n    update(1.0)\n": "step 1 (i=136) to 3.169e+25 in step 3 (i=138)",
    "for i in range(1, 13):\n    update(1.0)\n": "step 1 to 3.169e+25 in step 3 and is inf in step 4.",
    "for epoch in range(6):\n    for i, x in enumerate(data[:2]):\n        update(x)\n": (
        "step 1 (epoch=0, i=0) to 3.169e+25 in step 3 (epoch=1, i=0)"
    ),
    "def train(data):\n    for i, x in enumerate(data):\n        update(x)\n"
    "for epoch in range(6):\n    train(data[:2])\n": "step 1 (epoch=0, i=0) to 3.169e+25 in step 3 (epoch=1, i=0)",
    "for (i, _), x in zip(enumerate(data), data):\n    update(x)\n": "step 1 (counted from 1) to",
    "for x in data:\n    update(x)\n": "step 1 (counted from 1) to 3.169e+25 in step 3 and is inf in step 4.",
    "for _ in range(12):\n    update(1.0)\n": "step 1 (counted from 1) to 3.169e+25 in step 3 and",
    "i = 0\nwhile i < 12:\n    update(1.0)\n    i += 1\n": "step 1 (counted from 1) to 3.169e+25 in step 3 and",
}


@pytest.mark.parametrize("loop", LOOPS)
def test_the_numbers_of_the_program(by_engine, loop):
    text = " ".join(by_engine("why", START + loop).split())
    assert f"the loss grows from 1 in {LOOPS[loop]}" in text


def test_a_message_keeps_its_own_numbers(by_engine):
    loop = "for i in range(12):\n    update(1.0)\n    if i == 2:\n        raise ValueError('bad in step 2')\n"
    text = " ".join(by_engine("why", START + loop).split())
    assert "bad in step 2" in text and "bad in step 2 (" not in text


def test_what_exec_binds_in_a_function_stays(by_engine):
    loop = (
        "def train():\n    exec('number = 7')\n    for i in range(12):\n"
        "        update(1.0)\n        assert eval('number') == 7\ntrain()\n"
    )
    assert "the loss grows from 1 in step 1 (" in " ".join(by_engine("why", START + loop).split())


def test_the_dict_of_a_function_stays(by_engine):
    loop = (
        "def train():\n    held = locals()\n    number = 7\n    locals()\n    for i in range(12):\n"
        "        update(1.0)\n    assert held['number'] == 7\ntrain()\n"
    )
    assert "the loss grows from 1 in step 1 (" in " ".join(by_engine("why", START + loop).split())
