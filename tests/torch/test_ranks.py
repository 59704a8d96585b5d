"""Several processes: each rank writes a record of its own, `why` and `diff` read them together."""

import pytest

from tests.torch.launching import gradtrace, launch

pytest.importorskip("torch")
pytestmark = pytest.mark.slow

NET = """import torch, torch.distributed as dist
from torch import nn
import gradtrace.torch as gt
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.norm = nn.BatchNorm1d(8)
        self.extra = nn.Linear(8, 8)
        self.head = nn.Linear(8, 1)

    def forward(self, x, deep=False):
        h = torch.relu(self.norm(self.body(x)))
        if deep:
            h = torch.relu(self.extra(h))
        return self.head(h)


"""
DDP = """model = nn.parallel.DistributedDataParallel(Net(){options})
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed({seed})
try:
    with gt.record() as r:
        for step in range(3):
            x = torch.randn(6, 4)
            {change}
            optimizer.zero_grad()
            loss = model(x, {deep}).square().mean()
            loss.backward()
            optimizer.step()
finally:
    r.save("step.gt")
    dist.destroy_process_group()
"""
BY_HAND = """torch.manual_seed({seed})
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with gt.record() as r:
    for step in range(2):
        x = torch.randn(6, 4)
        optimizer.zero_grad()
        loss = model(x, {deep}).square().mean()
        loss.backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        optimizer.step()
r.save("step.gt")
dist.destroy_process_group()
"""
WRAPPED = """torch.manual_seed({seed})
with gt.record() as r:
    model = nn.parallel.DistributedDataParallel(Net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(6, 4)
    loss = model(x, {deep}).square().mean()
    loss.backward()
    optimizer.step()
r.save("step.gt")
dist.destroy_process_group()
"""
TOKENS = """net = nn.Sequential(nn.Embedding(20, 4), nn.BatchNorm1d(6), nn.Flatten(), nn.Linear(24, 3))
model = nn.parallel.DistributedDataParallel(net)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
tokens = torch.randint(0, 20, (40, 6))
with gt.record() as r:
    for step in range(3):
        order = torch.randperm(40, generator=torch.Generator().manual_seed(step))
        batch = tokens[order{share}]
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), batch[:, 0] % 3)
        loss.backward()
        optimizer.step()
r.save("step.gt")
dist.destroy_process_group()
"""
# the rest of the program, what differs in it, what the answer says
PROGRAMS = {
    "a layer that no rank uses": (
        DDP,
        {"deep": "False"},
        (
            "model.module.extra.weight and model.module.extra.bias got no gradient on any rank: its forward did not "
            "use them, and DDP waits for every gradient.",
            "line 20 h = torch.relu(self.extra(h)) extra would be used here",
            "find_unused_parameters=True",
        ),
    ),
    "a layer that one rank uses": (
        DDP,
        {"deep": "rank == 1"},
        (
            "model.module.extra.bias got a gradient on rank 1, but not on {others}: the ranks take different branches.",
            "line 21 return self.head(h) rank 0 goes on here (linear)",
            "line 20 h = torch.relu(self.extra(h)) rank 1 goes on here (linear)",
        ),
    ),
    "a graph that is not static": (
        DDP,
        {"deep": "step == 0", "options": ", static_graph=True"},
        (
            "got no gradient on any rank: its forward did not use them, but in pass 1 it did",
            "leave static_graph=True out: the graph is not the same in each pass",
        ),
    ),
    "a bad sample on one rank": (
        DDP,
        {"change": "if rank == 1 and step == 1: x[3, 2] = float('nan')"},
        (
            "On rank 1 first, and on {others} later, loss is nan in step 2 (step=1): line 31 writes nan into x",
            "sample 3 of x, of 6, is not finite",
        ),
    ),
    "the same batches": (
        DDP,
        {"seed": "0"},
        ("The batches of {all} are the same: x on line 30: each adds the same gradient",),
    ),
    "parameters that differ from the start": (
        BY_HAND,
        {"seed": "rank"},
        (
            "parameters of model.body, model.extra and model.head differ between {all} before the first step",
            "model = Net() model.body.weight is a leaf",
        ),
    ),
    "the same tokens": (
        TOKENS,
        {"share": ""},
        ("The batches of {all} are the same: batch on line",),
    ),
    "a share of the tokens": (
        TOKENS,
        {"share": "[rank :: dist.get_world_size()]"},
        ("Nothing is wrong that gradtrace can see: {ranks} ranks, 3 steps on each.",),
    ),
    "nothing wrong": (
        DDP,
        {},
        ("Nothing is wrong that gradtrace can see: {ranks} ranks, 3 steps on each.",),
    ),
    "a model that is wrapped in the recording": (
        WRAPPED,
        {"seed": "rank"},
        ("Nothing is wrong that gradtrace can see: {ranks} ranks, 1 pass on each.",),
    ),
}


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("name", PROGRAMS)
def test_why_of_all_ranks(tmp_path, name, ranks):
    rest, differs, expected = PROGRAMS[name]
    values = {"options": "", "seed": "1 + rank", "change": "pass", "deep": "True", **differs}
    records = launch(tmp_path, NET + rest.format(**values), ranks)
    done = gradtrace(tmp_path, "why", *records)
    shown = " ".join(done.stdout.split())
    names = {
        "ranks": ranks,
        "all": "ranks 0 and 1" if ranks == 2 else "ranks 0 to 3",
        "others": "rank 0" if ranks == 2 else "ranks 0, 2 and 3",
    }
    assert all(words.format(**names) in shown for words in expected), done.stdout + done.stderr
    assert done.returncode == int("got" in expected[0])  # the run failed


def test_two_records_of_one_rank_are_refused(tmp_path):
    _, rank1 = launch(
        tmp_path, NET + DDP.format(options="", seed="1 + rank", change="pass", deep="True")
    )
    (tmp_path / "other.gt").write_bytes((tmp_path / rank1).read_bytes())
    done = gradtrace(tmp_path, "why", rank1, "other.gt")
    assert done.returncode == 2 and "two of these records are of the same rank" in done.stderr


def test_two_ranks_and_where_they_part(tmp_path):
    change = "x = torch.ones(6, 4) * (1 + 4 * rank)"
    records = launch(tmp_path, NET + DDP.format(options="", seed="1", change=change, deep="True"))
    done = gradtrace(tmp_path, "diff", *records)
    assert done.returncode == 1, done.stderr
    assert "x" in done.stdout


def test_a_rank_without_a_record_is_named(tmp_path):
    text = NET + DDP.format(options="", seed="1 + rank", change="pass", deep="True")
    first, _, last = launch(tmp_path, text, ranks=3)
    done = gradtrace(tmp_path, "why", first, last)
    assert "Rank 1 left no record" in done.stdout and done.returncode == 0, done.stderr
