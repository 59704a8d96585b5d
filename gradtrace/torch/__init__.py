"""Record real PyTorch with gradtrace, with the same pictures and answers as for gradtrace's own engine.

    import gradtrace.torch as gt

    with gt.record() as r:
        loss = model(x)
        loss.backward()
    print(r.why("model.0.weight"))      # why a gradient is None, zero, NaN or a number
    r.draw("step.html")                 # a picture
    r.save("step.gt")                   # a file for every command: gradtrace stats step.gt

`draw(loss)` and `why(w)` work without a recording, from what the graph still holds. Needs PyTorch 2.4 or later.
"""

from __future__ import annotations

from gradtrace.torch.after import draw, why
from gradtrace.torch.guard import guard
from gradtrace.torch.recording import NoRecordingError, record

__all__ = ["NoRecordingError", "draw", "guard", "record", "why"]
