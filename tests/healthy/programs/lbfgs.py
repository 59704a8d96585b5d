import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
x = torch.randn(16, 3)
y = x @ torch.tensor([[1.0], [2.0], [-1.0]])
opt = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4)


def closure():
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss


for step in range(3):
    print(opt.step(closure).item())
