# engine: torch
# must: Checked:
# must: norms 0\.\d+ to \d\)
# never: 0000
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 16)
for _ in range(3):
    loss = (net(torch.randn(8, 3)) - 1).pow(2).mean()
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    print(nn.utils.clip_grad_norm_(net.parameters(), 10.0).item(), net.weight.grad.norm().item())
    scaler.step(opt)
    scaler.update()
