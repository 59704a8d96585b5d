"""Several processes: each rank writes a record of its own, and `diff` tells where two part."""

import subprocess
import sys

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.slow

PROGRAM = """import torch, torch.distributed as dist
from torch import nn
import gradtrace.torch as gt
dist.init_process_group("gloo")
torch.manual_seed(0)
model = nn.parallel.DistributedDataParallel(nn.Linear(3, 1))
x = torch.ones(2, 3)
if dist.get_rank() == 1:
    x[0, 0] = 5.0
with gt.record() as r:
    out = model(x)
    loss = out.pow(2).mean()
    loss.backward()
r.save("step.gt")
dist.destroy_process_group()
"""


def test_two_ranks_and_where_they_part(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone", "train.py"]
    done = subprocess.run(launch, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in tmp_path.glob("*.gt")) == ["step.rank0.gt", "step.rank1.gt"]
    command = [sys.executable, "-m", "gradtrace", "diff", "step.rank0.gt", "step.rank1.gt"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1, done.stderr
    assert "~" in done.stdout
    assert "x" in done.stdout
