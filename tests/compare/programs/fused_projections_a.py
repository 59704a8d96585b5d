import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class SelfAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(width, width)
        self.k = nn.Linear(width, width)
        self.v = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def split(self, t):
        b, n, c = t.shape
        return t.view(b, n, self.heads, c // self.heads).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        att = (q @ k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
        y = att.softmax(-1) @ v
        return self.out(y.transpose(1, 2).reshape(x.shape))

torch.manual_seed(0)
net = SelfAttention(16, 4)
head = nn.Linear(16, 3)
opt = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=1e-2)
x = torch.randn(6, 5, 16)
y = torch.randint(0, 3, (6,))
for step in range(5):
    loss = F.cross_entropy(head(net(x).mean(1)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"{loss.item():.6f}")
