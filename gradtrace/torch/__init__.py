"""Record real PyTorch with gradtrace, with the same pictures and answers as for gradtrace's own
engine.

    import gradtrace.torch as gt

    with gt.record() as r:
        loss = model(x)
        loss.backward()
    print(r.why("model.0.weight"))      # why a gradient is None, zero, NaN or a number
    r.draw("step.html")                 # a picture
    print(gt.compare("old.gt", r))      # where two runs first differ
    r.save("step.gt")                   # a file for every command: gradtrace stats step.gt

`guard` and `watch` explain the first training step that is not finite, and `accelerate.guarded`
guards the loops of an Accelerator. `flight("run.gtlog", model, optimizer)` keeps the numbers of the
last training steps in a file. `capsule` writes the state before a step to a file, and `replay` runs
that step again in another process. `draw(loss)` and `why(w)` work without a recording, from what
the graph still holds. Within `pause()` a recording notes nothing. `check_model` tries a model on
copies, for bugs that raise no error. Needs PyTorch 2.4 or later.
"""

from __future__ import annotations

from gradtrace.analysis.probes import check_model
from gradtrace.torch import accelerate
from gradtrace.torch.after import draw, why
from gradtrace.torch.capsule import capsule
from gradtrace.torch.comparing import RunComparison, compare
from gradtrace.torch.flight import flight
from gradtrace.torch.guard import guard
from gradtrace.torch.recording import NoRecordingError, pause, record
from gradtrace.torch.replay import Replay, replay
from gradtrace.torch.watch import watch

__all__ = [
    "NoRecordingError",
    "Replay",
    "RunComparison",
    "accelerate",
    "capsule",
    "check_model",
    "compare",
    "draw",
    "flight",
    "guard",
    "pause",
    "record",
    "replay",
    "watch",
    "why",
]
