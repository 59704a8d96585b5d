# engine: torch
# cause: the heads are split off by one view, without transpose: each head gets pieces of several tokens
# line: return x.view(b, self.heads, t, d // self.heads)
# must: view
# must: transpose
# never: diverges|vanishes
# right: x.view(b, self.heads, t, d // self.heads) ==> x.view(b, t, self.heads, d // self.heads).transpose(1, 2)
import torch
from torch import nn

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))

    def split(self, x):
        b, t, d = x.shape
        return x.view(b, self.heads, t, d // self.heads)

    def forward(self, x):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
        return self.o((scores.softmax(-1) @ v).transpose(1, 2).reshape(x.shape))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(32), Attention()

    def forward(self, x):
        return x + self.attention(self.norm(x))


model = nn.Sequential(nn.Embedding(40, 32), Block(), Block(), nn.Linear(32, 40))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(3):
    tokens = torch.randint(0, 40, (3, 11))
    loss = nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
