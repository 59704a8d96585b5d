import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
rnn, head = nn.GRU(4, 8), nn.Linear(8, 1); opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()], lr=1e-2)
for step in range(5):
    x = torch.randn(16, 6, 4); y = x.sum((1, 2))[:, None]
    out, _ = rnn(x)
    loss = F.mse_loss(head(out[:, -1]), y)
    opt.zero_grad(); loss.backward(); opt.step()
