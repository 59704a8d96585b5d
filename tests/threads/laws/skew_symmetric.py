import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
W = nn.Parameter(torch.randn(64, 64) * 0.1); S = nn.Linear(64, 64, bias=False)
opt = torch.optim.SGD([W, *S.parameters()], lr=0.01)
for step in range(5):
    x = torch.randn(16, 64)
    M = W * 1.5
    A = M - M.T
    loss = F.mse_loss(x @ A + S(x), x.flip(1))
    opt.zero_grad(); loss.backward(); opt.step()
