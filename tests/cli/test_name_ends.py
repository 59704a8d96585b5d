"""Wherever a command takes a tensor's name, the end of it after a dot is enough if only one name ends so."""

import pytest

TEXT = """\
import torch
from torch import nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(3, 4)
        self.decoder = nn.Linear(4, 1)
    def forward(self, x):
        return self.decoder(self.encoder(x).tanh())
model = Model()
loss = model(torch.ones(2, 3)).sum()
"""
COMMANDS = {
    "why": ("why", "-", "{}"),
    "precision": ("why", "--precision", "-", "{}"),
    "get": ("eval", "-", "--get", "{}.grad"),
    "element": ("eval", "-", "--get", "{}[0]"),
    "inputs": ("eval", "-", "--inputs", "{}", "--get", "{}.grad"),
    "paths": ("paths", "-", "--to", "{}"),
    "trace": ("trace", "-", "--follow", "{}"),
    "jacobian": ("jacobian", "-", "--wrt", "{}"),
    "hessian": ("hessian", "-", "--wrt", "{}"),
    "check": ("check", "-", "--inputs", "{}"),
}


def lines(gt, command, name):
    words = [word.format(name) for word in COMMANDS[command]]
    text = TEXT if command not in ("why", "precision") else TEXT + "loss.backward()\n"
    return gt(*words, "--seed", 3, input=text)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_end_of_one_name(gt, command):
    short, full = (lines(gt, command, name) for name in ("decoder.bias", "model.decoder.bias"))
    assert short.exit_code == full.exit_code == 0, short.stderr
    assert short.stdout == full.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_the_end_of_several_names(gt, command):
    done = lines(gt, command, "bias")
    assert done.exit_code == 2
    assert (
        "several names end with 'bias'; give one of model.encoder.bias and model.decoder.bias"
        in done.stderr
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_a_name_that_is_none(gt, command):
    done = lines(gt, command, "decodr.bias")
    assert done.exit_code == 2 and "did you mean model.decoder.bias?" in done.stderr


def test_a_retained_gradient(gt):
    done = gt("eval", "-", "--retain-grad", "los", input=TEXT)
    assert done.exit_code == 2 and "did you mean loss?" in done.stderr


def test_one_tensor_of_two_names(gt):
    text = TEXT + "other = model\n"
    assert gt("eval", "-", "--get", "decoder.bias.grad", input=text).exit_code == 0


def test_a_whole_name_comes_before_an_end(gt):
    text = TEXT + "bias = torch.ones(2, requires_grad=True)\n(bias * 3).sum() + loss\n"
    assert gt("eval", "-", "--get", "bias.grad", input=text).stdout.strip() == "[3.0, 3.0]"
