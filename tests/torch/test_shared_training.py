"""Several processes that share a training: shards of FSDP2, buffers, random numbers, ranks that die, flight logs."""

import json
import re

import pytest

from tests.torch.launching import gradtrace, launch, torchrun

pytest.importorskip("torch")
gt = pytest.importorskip("gradtrace.torch")
pytestmark = pytest.mark.slow

SHARDED = """import torch, torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
import gradtrace.torch as gt
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(5, 7)
        self.down = nn.Linear(7, 5)
    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(5, 1)
    def forward(self, x):
        for b in self.blocks:
            x = b(x)
        return self.head(x)


model = Net()
for b in model.blocks:
    fully_shard(b)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
torch.manual_seed(1 + rank)
try:
    with gt.record() as r:
        for step in range(2):
            x = torch.randn(6, 5)
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
    for n, p in model.named_parameters():
        norms = [one.full_tensor().double().norm().item() for one in (p, p.grad)]
        if rank == 0:
            print("WHOLE", f"model.{n}", *norms)
finally:
    r.save("step.gt")
    dist.destroy_process_group()
"""
STATE = """import torch, torch.distributed as dist
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
        self.drop = nn.Dropout(0.5)
        self.register_buffer("seen", torch.ones(8))
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        h = torch.relu(self.norm(self.body(x)))
        if {updates}:
            self.seen += h.detach().mean(0)
        h = self.drop(h) / self.seen
        return self.head(h)


model = nn.parallel.DistributedDataParallel(Net(){options})
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed({seed})
generator = torch.Generator().manual_seed(rank)
with gt.record() as r:
    for step in range(3):
        x = torch.randn(6, 4, generator=generator)
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
r.save("step.gt")
dist.destroy_process_group()
"""
DYING = """import os, signal
import torch, torch.distributed as dist
from torch import nn
import gradtrace.torch as gt
dist.init_process_group("gloo")
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # torchrun's, when the first rank has failed: the others save theirs
rank = dist.get_rank()
torch.manual_seed(0)
model = nn.parallel.DistributedDataParallel(nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(1 + rank)
try:
    with gt.record() as r:
        for step in range(5):
            x = torch.randn(6, 4)
            optimizer.zero_grad()
            loss = model(x).square().mean()
            if rank == int(os.environ["WHO"]) and step == 3:
                if os.environ["HOW"] == "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                raise ValueError("bad sample")
            loss.backward()
            optimizer.step()
finally:
    r.save("step.gt")
"""
FLIGHT = """import os
import torch, torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
import gradtrace.torch as gt
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 1))
if os.environ["HOW"] == "fsdp":
    fully_shard(model[0])
    fully_shard(model)
else:
    model = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
torch.manual_seed(1 + rank)
with gt.flight("run.gtlog", model, optimizer) as flight:
    for step in range(60):
        x = torch.randn(6, 5)
        if rank == 1 and step == 36:
            x *= 100
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        flight.step(loss)
dist.destroy_process_group()
"""


@pytest.mark.parametrize("ranks", [2, 4])
def test_norms_of_whole_parameters_are_those_of_full_tensor(tmp_path, ranks):
    said = torchrun(tmp_path, SHARDED, ranks)
    expected = dict(
        line.split(maxsplit=2)[1:] for line in said.splitlines() if line.startswith("WHOLE")
    )
    names = [f"step.rank{i}.gt" for i in range(ranks)]
    done = gradtrace(tmp_path, "stats", *names, "--format", "json")
    found = {one["name"]: one for one in json.loads(done.stdout)["parameters"]}
    assert len(expected) == 10 and found.keys() == expected.keys(), said + done.stderr
    for name, norms in expected.items():
        wanted = list(map(float, norms.split()))
        assert [found[name]["norm"], found[name]["grad_norm"]] == pytest.approx(wanted, rel=1e-6)
    alone = gradtrace(tmp_path, "stats", names[0])
    assert (
        "rank 0 holds a part of each of 10 parameters" in alone.stderr and "NaN" not in alone.stdout
    )
    assert "update: first" in alone.stdout
    part = gradtrace(tmp_path, "stats", *names[:1], *names[:1])
    assert part.returncode == 2 and "two of these records are of the same rank" in part.stderr
    together = gradtrace(tmp_path, "why", *names)
    assert (
        f"Nothing is wrong that gradtrace can see: {ranks} ranks, 2 steps on each."
        in together.stdout
    )


def test_a_gradient_is_said_to_be_the_rank_s_own(tmp_path):
    """Their average over the ranks is what the ranks reduce them to."""
    text = SHARDED.replace(
        "norms = [", 'print("GRAD", rank, n, *p.grad.full_tensor().tolist())\n        norms = ['
    )
    said = torchrun(
        tmp_path, text.replace("p.grad.full_tensor()", "p.grad.full_tensor().flatten()")
    )
    name = "blocks.1.down.bias"
    reduced = next(
        line.split()[3:] for line in said.splitlines() if line.startswith(f"GRAD 0 {name} ")
    )
    own = []
    for rank in (0, 1):
        done = gradtrace(
            tmp_path, "why", f"step.rank{rank}.gt", f"model.{name}", "--format", "json"
        )
        (answer,) = json.loads(done.stdout)["answers"]
        assert answer["sentence"].startswith(
            f"Before the ranks reduce it, rank {rank}'s model.{name}.grad is "
        ), said
        own.append(answer["value"])
    assert own[0] != own[1]
    assert [(a + b) / 2 for a, b in zip(*own, strict=True)] == pytest.approx(
        list(map(float, reduced)), rel=1e-5
    )


def test_a_missing_part_is_said(tmp_path):
    launch(tmp_path, SHARDED, 3)
    done = gradtrace(tmp_path, "stats", "step.rank0.gt", "step.rank2.gt")
    assert "Norms are not known: the records of 1 rank are missing." in done.stdout, done.stderr


STATES = {
    "a buffer of one rank": (
        {"options": ", broadcast_buffers=False", "updates": "rank == 0"},
        (
            "model.module.norm.running_var differ between ranks 0 and 1 at the end",
            "line 21 self.seen += h",
        ),
    ),
    "statistics of BatchNorm": (
        {"options": ", broadcast_buffers=False", "updates": "False"},
        ("running_mean and model.module.norm.running_var differ between ranks 0 and 1 at the end",),
    ),
    "buffers that are sent": ({"updates": "True"}, ("Nothing is wrong that gradtrace can see",)),
    "the same dropout": (
        {"seed": "1"},
        ("Ranks 0 and 1 drew the same random numbers on line 22", "elements of self.drop(h)"),
    ),
}


@pytest.mark.parametrize("name", STATES)
def test_buffers_and_random_numbers(tmp_path, name):
    differs, expected = STATES[name]
    records = launch(
        tmp_path, STATE.format(**{"options": "", "updates": "True", "seed": "1 + rank", **differs})
    )
    done = gradtrace(tmp_path, "why", *records)
    shown = " ".join(done.stdout.split())
    assert all(words in shown for words in expected), done.stdout + done.stderr


def test_buffers_that_are_overwritten_have_the_contents_of_rank_0(tmp_path):
    names = launch(tmp_path, STATE.format(options="", updates="True", seed="1 + rank"))
    first, second = (
        gt.record.from_bytes((tmp_path / name).read_bytes(), "summary").trace() for name in names
    )
    sums = [
        [one for one in trace.operations if one.text.startswith("self.seen += ")]
        for trace in (first, second)
    ]
    assert [len(some) for some in sums] == [3, 3]
    for step in (1, 2):
        sent = first.tensors[sums[0][step - 1].outputs[0]].value
        held = second.tensors[sums[1][step].tensors[0]]
        own = second.tensors[sums[1][step - 1].outputs[0]].value
        assert held.value.data.tolist() == sent.data.tolist() != own.data.tolist()
        writes = [
            one for one in second.changes if one.how == "broadcast" and held.id in one.tensors
        ]
        assert len(writes) == 2 and all("model(x)" in one.text for one in writes)


SPLIT = {
    "tensor parallelism": (
        """from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
mesh = init_device_mesh("cpu", (2,))
plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
model = parallelize_module(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)), mesh, plan)
def step():
    model(torch.ones(6, 4) + 0 * x).square().mean().backward()
""",
        "operations use: tensor parallelism is not supported (model.0.weight is S(0))",
    ),
    "a pipeline": (
        """from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
model = nn.Linear(4, 4) if rank == 0 else nn.Linear(4, 1)
torch.use_deterministic_algorithms(True)  # fills new memory with NaN: in that in which a stage receives, and others
stage = PipelineStage(model, rank, 2, torch.device("cpu"))
schedule = ScheduleGPipe(stage, 2, loss_fn=lambda y, t: (y - t).square().mean())
def step():
    schedule.step(x) if rank == 0 else schedule.step(target=x[:, :1])
""",
        "the other stages of the model: pipelines are not supported, first on line",
    ),
    "a compiled model": (
        """from torch.distributed.fsdp import fully_shard
model = nn.Linear(4, 1)
fully_shard(model)
model.compile()
torch.manual_seed(1 + rank)
def step():
    model(x).square().mean().backward()
""",
        "compiled kernels; compiled models ran as they are written",
    ),
}
AROUND = """import torch, torch.distributed as dist
from torch import nn
import gradtrace.torch as gt
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
{middle}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with gt.record() as r:
    for _ in range(2):
        x = torch.randn(6, 4)
        optimizer.zero_grad()
        step()
        optimizer.step()
r.save("step.gt")
dist.destroy_process_group()
"""


@pytest.mark.parametrize("name", SPLIT)
def test_what_is_not_supported_is_said_where_it_is_met(tmp_path, name):
    middle, note = SPLIT[name]
    names = launch(tmp_path, AROUND.format(middle=middle))
    together, alone = gradtrace(tmp_path, "why", *names), gradtrace(tmp_path, "why", names[1])
    assert note in together.stderr and note in alone.stderr, (together.stdout, alone.stdout)
    assert "Nothing is wrong that gradtrace can see" in together.stdout, together.stdout
    assert "Checked: 2 steps" in alone.stdout, alone.stdout


def test_no_number_of_the_memory_in_which_a_stage_receives_is_told(tmp_path):
    names = launch(tmp_path, AROUND.format(middle=SPLIT["a pipeline"][0]))
    for name in names:
        for command in (["stats", name], ["trace", name], ["why", name, "model.weight"]):
            done = gradtrace(tmp_path, *command)
            assert done.returncode == 0, done.stderr
            assert not re.search(r"\b(nan|inf)\b", done.stdout.lower()), done.stdout


def test_nan_in_a_stage_of_a_pipeline(tmp_path):
    middle = SPLIT["a pipeline"][0].replace(
        "model = nn.Linear(4, 4) if rank == 0 else nn.Linear(4, 1)",
        """class Root(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 1)
    def forward(self, x):
        return torch.sqrt(self.linear(x) * 0 - 1)
model = nn.Linear(4, 4) if rank == 0 else Root()""",
    )
    names = launch(tmp_path, AROUND.format(middle=middle))
    for given in (names, names[1:]):
        done = gradtrace(tmp_path, "why", *given)
        assert (
            "sqrt" in done.stdout and "return torch.sqrt(self.linear(x) * 0 - 1)" in done.stdout
        ), done.stdout


@pytest.mark.parametrize("who", [1, 2])
def test_a_rank_that_is_killed(tmp_path, who):
    torchrun(tmp_path, DYING, 3, HOW="kill", WHO=str(who))
    names = sorted(p.name for p in tmp_path.glob("*.gt"))
    assert names == [f"step.rank{i}.gt" for i in range(3) if i != who]
    done = gradtrace(tmp_path, "why", *names)
    assert f"Rank {who} left no record after step 3: it died or was killed" in done.stdout, (
        done.stderr
    )
    assert "Traceback" not in done.stderr and done.returncode == 1
    alone = gradtrace(tmp_path, "why", names[0])
    assert "Rank 0 stopped on line 22: another process closed the connection" in alone.stdout
    assert "gloo" not in alone.stdout and alone.stdout.count("  line ") == 1


def test_a_rank_that_raises(tmp_path):
    names = launch(tmp_path, DYING, 3, HOW="raise", WHO="1")
    done = gradtrace(tmp_path, "why", *names)
    assert "On rank 1: The program failed: ValueError: bad sample" in done.stdout
    assert "lost the connection" not in done.stdout and "Traceback" not in done.stderr
    done = gradtrace(
        tmp_path, "why", *names[1:]
    )  # torchrun may end the others before they write theirs
    first, second = " ".join(done.stdout.split()).split(" Rank 0 left no record: ")
    assert first.startswith("On rank 1: The program failed: ValueError: bad sample")
    assert second.startswith("torchrun ends all when one fails, or its record was not given")


def test_flight_logs_of_two_ranks(tmp_path):
    said = torchrun(tmp_path, FLIGHT, HOW="ddp")
    done = gradtrace(tmp_path, "stats", "run.rank0.gtlog", "run.rank1.gtlog")
    shown = " ".join(done.stdout.split())
    assert "Step 37, on rank 1: loss is" in shown, said + done.stderr
    assert "grad module.0 on rank 0 in the same step." in shown
    again = gradtrace(tmp_path, "stats", "run.rank0.gtlog", "run.rank0.gtlog")
    assert again.returncode == 2 and "of the same rank" in again.stderr


def test_flight_logs_of_shards_have_the_norms_of_whole_parameters(tmp_path):
    shown = {}
    for how in ("fsdp", "ddp"):
        (tmp_path / how).mkdir()
        torchrun(tmp_path / how, FLIGHT, HOW=how)
        done = gradtrace(
            tmp_path / how, "stats", "run.rank0.gtlog", "run.rank1.gtlog", "--format", "json"
        )
        document = json.loads(done.stdout)
        curves, which = (
            (document["whole"], "median") if how == "fsdp" else (document["curves"], "lowest")
        )
        shown[how] = [one[which] for one in curves if one["name"].startswith("grad")]
    assert len(shown["ddp"]) == 2
    assert shown["fsdp"] == pytest.approx(shown["ddp"], rel=1e-5)


def test_fsdp1_is_said_not_to_be_read(tmp_path):
    lines = SHARDED.replace(
        "fully_shard(model)\n",
        'model = FullyShardedDataParallel(model, device_id=torch.device("cpu"))\n',
    )
    lines = lines.replace("import fully_shard", "import FullyShardedDataParallel")
    text = lines.replace("    fully_shard(b)\n", "    pass\n").replace("one.full_tensor()", "one")
    names = launch(tmp_path, text)  # its freed parameters are not read, which would end the process
    done = gradtrace(tmp_path, "why", names[0])
    assert "left out: the parameters of FSDP1 (FullyShardedDataParallel)" in done.stderr
