import copy, torch
from torch import nn
torch.manual_seed(0)
q = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2)); target = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), lr=1e-3); sync_every = 100
for step in range(6):
    s, s2 = torch.randn(32, 4), torch.randn(32, 4); a = torch.randint(0, 2, (32, 1)); r = torch.randn(32)
    with torch.no_grad():
        y = r + 0.99 * target(s2).max(1).values
    loss = nn.functional.smooth_l1_loss(q(s).gather(1, a).squeeze(1), y)
    opt.zero_grad(); loss.backward(); opt.step()
    if step / sync_every:
        target.load_state_dict(q.state_dict())
