"""What `why` and the views say of small programs that people ask about: the right line and name, and nothing false."""

import json
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# a program, the tensor asked about ("" for the program's failure): the cause, words of the answer, words that are false
ANSWERS = {
    "why_line x": ("backward", "x.grad is 4, from backward on line 4.", "line 7"),
    "why_line a": ("backward", "a.grad is 2, from backward on line 7.", "line 4"),
    "why_two_nets a.bias": ("backward", "from backward on line 12.", "line 16"),
    "why_two_nets b.bias": ("backward", "from backward on line 16.", "line 12"),
    "why_J x": ("backward", "from backward on line 8.", "line 13"),
    "why_loop_nonleaf x": ("backward", "from backward on line 6.", "line 10"),
    "why_J_full mu": ("backward", "from backward on line 56.", "line 44"),
    "why_grad_print x": ("autograd.grad", "autograd.grad runs from y", "item"),
    "why_grad_print y": ("non-leaf", "autograd.grad runs from y", "item"),
    "why_hessian xh": ("autograd.grad", "stores none in .grad", "item"),
    "why_hessian H": (
        "no create_graph",
        "hessian on line 4, which was called without create_graph=True",
        "no_grad|no derivative",
    ),
    "why_print_item w": ("not on a path", "is not part of b", "item"),
    "why_print_item y": ("unused", "nothing was computed from it", "item"),
    "why_J z": ("non-leaf", "backward runs from z", "no gradient came"),
    "why_J J": ("non-leaf", "line 8 backward runs from J", "no gradient came"),
    "why_J_full J": ("non-leaf", "backward runs from J", "no gradient came"),
    "why_state": (
        "freed",
        "line 8 carries self.mem .* lif.mem = lif.mem.detach() at the start of each turn (line 13)",
        "total's|total.detach|line 16 carries|self.mem.detach",
    ),
    "why_carried_loss": (
        "freed",
        "line 8 carries h .* h = h.detach() at the start of each turn (line 6)",
        "(line 8)",
    ),
    "why_carried_loss2": (
        "freed",
        "line 13 carries h .* h = h.detach() at the start of each turn (line 11)",
        "(line 13)",
    ),
    "q04_forward_once": (
        "freed",
        "loss was computed once, before the loop .* compute it inside of the loop, before backward",
        "call the first backward with retain_graph",
    ),
}


@pytest.fixture
def answer(by_engine):
    """answer(program, names...) -> the answer of `why` as data, with one engine or the other."""

    def of(program, *names):
        text = (HERE / program).with_suffix(".py").read_text()
        printed = by_engine("why", text, *names, "--format", "json")
        return json.loads(printed[printed.index('{"schema"') :])["answers"][0]

    return of


def words_of(answer):
    evidence = [f"line {item['line']} {item['text']}" for item in answer["evidence"]]
    return " ".join([answer["sentence"], *evidence, *answer["advice"]])


def in_order(text, words):
    """Whether a text has all of some words, separated by " .* ", in this order."""
    for part in words.split(" .* "):
        _, found, text = text.partition(part)
        if not found:
            return False
    return True


@pytest.mark.parametrize("asked", ANSWERS)
def test_an_answer_is_about_this_gradient(answer, asked):
    program, *names = asked.split()
    code, said, false = ANSWERS[asked]
    told = answer(f"own/{program}", *names)
    text = words_of(told)
    assert told["cause"] == code, text
    assert in_order(text, said), text
    assert not any(word in text for word in false.split("|")), text


def test_the_forward_in_the_loop_was_tried(answer):
    told = answer("own/q04_forward_once")
    assert told["tried"] and "inside of the loop" in told["tried"][0]


# gradtrace's own engine gives programs the name torch; PyTorch does not
LONG = "import torch\n" + (HERE / "own/why_J_min.py").read_text()


def test_a_pass_that_is_not_recorded_in_detail(by_engine):
    text = " ".join(by_engine("why", LONG, "J").split())
    assert "J.grad is None: it is a non-leaf" in text and "no gradient came" not in text


# ---- names

TABLES = {
    "apply_names": ("MyOp  x, y", ["MyOp, x", "MyOp.grad"]),
    "param_name": ("x.grad = ", ["a parameter of Linear, a parameter of Linear, "]),
    "rebound_leaf": ("x.grad = 3", ["x -= 0.5 * x.grad #", "zero_() #"]),
}


@pytest.mark.parametrize("program", TABLES)
def test_names_in_the_trace(by_engine, program):
    said, false = TABLES[program]
    text = by_engine("trace", (HERE / f"own/{program}.py").read_text())
    assert " ".join(said.split()) in " ".join(text.split())
    assert not [words for words in false if words in text]


@pytest.mark.parametrize("program", TABLES)
@pytest.mark.parametrize("command", ["eval", "graph"])
def test_names_in_other_views(by_engine, program, command):
    rest = ["--format", "csv"] if command == "eval" else []
    text = by_engine(command, (HERE / f"own/{program}.py").read_text(), *rest)
    false = [words for words in TABLES[program][1] if words in text]
    assert not false


def test_operands_in_the_order_of_the_function(by_engine):
    text = by_engine("trace", (HERE / "own/names2.py").read_text(), "--format", "json")
    document = json.loads(text[text.index('{"schema"') :])
    inputs = {
        step["text"]: step["inputs"]
        for step in document["steps"]
        if step["kind"] == "forward" and step["op"] not in ("permute", "view", "t")
    }
    tensors = {text: [name for name in names if name in "pqruv"] for text, names in inputs.items()}
    assert tensors["torch.addcmul(p, q, r)"] == ["p", "q", "r"]
    assert tensors["torch.cat([q, p])"] == ["q", "p"]
    assert tensors["u * v"] == ["u", "v"]
    assert sorted(tensors["F.mse_loss(target=q, input=p)"]) == ["p", "q"]
    assert tensors["F.linear(p, q, r)"] in (["p", "q", "r"], ["r", "p"])  # q is transposed


HELPER = """\
import torch
def f(x):
    return (x * 2).sum()
x = torch.tensor(1.0, requires_grad=True)
loss = f(torch.tensor(3.0, requires_grad=True)) + x
loss.backward()
"""
SECOND = """\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 1)
    def forward(self, x):
        return self.fc(x)
net = Net()
model = net
layer = net.fc
net(torch.ones(3, 2)).sum().backward()
"""


def test_a_helper_s_argument_is_not_the_global(by_engine):
    text = by_engine("trace", HELPER)
    assert "x in f" in text


@pytest.mark.parametrize("name", ["net.fc.bias", "model.fc.bias", "layer.bias", "fc.bias"])
def test_a_second_name_of_a_module(by_engine, name):
    assert by_engine("why", SECOND, name).startswith("net.fc.bias.grad is [3]")


BASE = """\
import torch
class Store:
    pass
def run(store, w):
    y = store.buffer.mul(w)
    store.buffer[0:2] = 1.0
    return y.sum()
w = torch.ones(4, requires_grad=True)
store = Store()
store.buffer = torch.randn(4)
run(store, w).backward()
"""


def test_a_slice_is_not_its_base(by_engine):
    text = " ".join(by_engine("why", BASE).split())
    assert "store.buffer was saved by mul on line 5 and changed in place" in text
    assert "store.buffer[0:2] was saved" not in text and "store.buffer[0:2].clone()" not in text


TUPLE = """\
import torch
values, places = torch.ones(2, 3, requires_grad=True).mul(2.0).topk(1, dim=1, largest=True)
loss = torch.softmax(values, dim=1).sum()
a, b = torch.optim.SGD([values.detach()], lr=0.1), torch.optim.SGD([torch.ones(1)], lr=0.1)
loss.backward()
"""


def test_a_tuple_target_is_two_names(by_engine):
    assert "values, places" not in by_engine("why", TUPLE)


# ---- programs for real PyTorch, in which a module is not held by a variable

TORCH = {
    "m9_slice_name": (
        "self.queue was saved .* line 12 .* self.queue.clone()",
        "self.queue[:, 0:2] was|queue[:, 0:2].clone",
    ),
    "m10_tuple_name": ("for top_logits has the shape (5, 1)", "top_logits, top_indices has"),
    "m16_sequential_name": ("exp on line 9 is not finite", "net(x) goes up|torch.exp(net(x)"),
}


@pytest.mark.parametrize("program", TORCH)
def test_a_name_within_a_module(by_engine, program):
    said, false = TORCH[program]
    text = " ".join(by_engine("why", (HERE / f"torch/{program}.py").read_text()).split())
    assert in_order(text, said), text
    assert not any(words in text for words in false.split("|"))
