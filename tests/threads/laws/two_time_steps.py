import torch
from torch import nn

torch.manual_seed(0)
levels = torch.linspace(0.9, 0.1, 10)
embedding = nn.Embedding(10, 4)
net = nn.Linear(4, 4)
opt = torch.optim.SGD([*net.parameters(), *embedding.parameters()], lr=0.1)

def draw(n):
    return torch.randint(0, 10, (n,))

def loss_of(x):
    noise = torch.randn_like(x)
    noisy = x + noise * torch.index_select(levels, 0, draw(len(x)))[:, None]
    predicted = net(noisy + embedding(draw(len(x))))
    return (predicted - noise).pow(2).mean()

for i in range(4):
    loss = loss_of(torch.randn(8, 4))
    opt.zero_grad()
    loss.backward()
    opt.step()
