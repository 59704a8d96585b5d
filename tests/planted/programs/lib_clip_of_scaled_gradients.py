# engine: torch
# cause: the gradients are clipped while they are multiplied by the loss scale
# line: nn.utils.clip_grad_norm_(net.parameters(), 1.0)
# must: scaler\.unscale_\(opt\)
# never: learning rate is too large|vanishes
# right: nn.utils.clip_grad_norm_ ==> scaler.unscale_(opt); nn.utils.clip_grad_norm_
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for step in range(3):
    x = torch.randn(8, 8)
    loss = (net(x) - x[:, :1]).pow(2).mean()
    opt.zero_grad()
    scaler.scale(loss).backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
