"""The level "structure" does not touch the elements of tensors: they may be on the meta device, or not to be read."""

import json
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
gt = pytest.importorskip("gradtrace.torch")

from tests.torch.launching import gradtrace  # noqa: E402

UNREADABLE = """import ctypes, mmap, sys
import torch
import gradtrace.torch as gt
pages = mmap.mmap(-1, 8192)
w = torch.frombuffer(pages, dtype=torch.float32).requires_grad_()
b = torch.frombuffer(pages, dtype=torch.float32, count=8)
v = torch.frombuffer(pages, dtype=torch.float32).view(32, 64)
assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(w.data_ptr()), 8192, 0) == 0
with gt.record(sys.argv[1]) as r:
    rows = w.view(32, 64)
    part = rows.t()[:, :8]
    few = b.reshape(2, 4)
    torch.autograd.grad(rows, w, v)
r.save("views.gt")
print([one.name for one in r.trace().operations])
"""


def test_a_step_on_the_meta_device(tmp_path):
    model = torch.nn.Sequential(
        torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 10)
    ).to("meta")
    optimizer = torch.optim.AdamW(model.parameters())
    with gt.record("structure") as r:
        for _ in range(2):
            optimizer.zero_grad()
            loss = model(torch.ones(64, 512, device="meta")).square().mean()
            loss.backward()
            optimizer.step()
    trace = r.trace()
    assert not any(
        value.is_measured for t in trace.tensors for value in (t.value, t.grad) if value is not None
    )
    r.save(tmp_path / "step.gt")
    answer = gradtrace(tmp_path, "why", "step.gt", "model.0.weight", "--format", "json")
    (found,) = json.loads(answer.stdout)["answers"]
    assert found["sentence"].startswith("model.0.weight.grad is of shape (2048, 512)"), (
        answer.stderr
    )
    whole = gradtrace(tmp_path, "why", "step.gt")
    assert whole.returncode == 0 and "all 4 parameters have gradients" in " ".join(
        whole.stdout.split()
    ), whole.stderr
    assert gradtrace(tmp_path, "stats", "step.gt").returncode == 0


@pytest.mark.skipif(sys.platform != "linux", reason="mprotect")
@pytest.mark.parametrize(("level", "is_read"), [("structure", False), ("summary", True)])
def test_memory_that_cannot_be_read(tmp_path, level, is_read):
    (tmp_path / "views.py").write_text(UNREADABLE)
    command = [sys.executable, "views.py", level]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode < 0) == is_read, done.stderr
    assert is_read or done.stdout == "['view', 't', 'slice', 'reshape', 'grad']\n"
