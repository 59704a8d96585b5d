# engine: torch
# cause: the gradients are clipped while they are still multiplied by the loss scale
# line: nn.utils.clip_grad_norm_(model.parameters(), 1.0)
# must: clip
# must: unscale_
# never: diverges|vanishes|not zeroed
# right:     nn.utils.clip ==>     scaler.unscale_(opt)\n    nn.utils.clip
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 4))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
for step in range(3):
    x, y = torch.randn(8, 8), torch.randint(0, 4, (8,))
    opt.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
