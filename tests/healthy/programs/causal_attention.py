import torch
from torch import nn

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.heads = heads

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (f(x).view(b, t, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        scores = q @ k.transpose(-2, -1) / (d // self.heads) ** 0.5
        later = torch.ones(t, t).triu(1).bool()
        weights = scores.masked_fill(later, float("-inf")).softmax(-1)
        return self.o((weights @ v).transpose(1, 2).reshape(b, t, d))


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attention = Attention(d, 2)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
        self.scale = nn.Parameter(torch.full((d,), 1e-6))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.scale * self.mlp(self.norm2(x))


model = nn.Sequential(nn.Embedding(20, 16), *[Block(16) for _ in range(4)], nn.LayerNorm(16), nn.Linear(16, 20))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(3):
    ids = torch.randint(0, 20, (4, 9))
    logits = model(ids[:, :-1])
    loss = nn.functional.cross_entropy(logits.reshape(-1, 20), ids[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
