import copy, torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
ema = copy.deepcopy(net)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
decay = 0.999
for step in range(6):
    x = torch.randn(32, 8); y = x.sum(1, keepdim=True)
    with torch.no_grad():
        teacher = ema(x)
    loss = nn.functional.mse_loss(net(x), y) + 0.1 * nn.functional.mse_loss(net(x), teacher)
    opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        for p, q in zip(net.parameters(), ema.parameters()):
            q.copy_((1 - decay) * q + decay * p)
