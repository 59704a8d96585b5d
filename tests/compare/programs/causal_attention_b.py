import torch
from torch import nn

class CausalAttention(nn.Module):
    def __init__(self, dim, n_head):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.n_head = n_head
        self.register_buffer("mask", torch.tril(torch.ones(64, 64)).bool())

    def forward(self, x):
        B, T, C = x.shape
        qkv = self.qkv(x).view(B, T, 3, self.n_head, C // self.n_head)
        q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
        att = torch.einsum("bthd,bshd->bhts", q, k) / (C // self.n_head) ** 0.5
        att = att.masked_fill(~self.mask[:T, :T], float("-inf"))
        att = torch.softmax(att, dim=-1)
        return self.out(torch.einsum("bhts,bshd->bthd", att, v).reshape(B, T, C))

class Layer(nn.Module):
    def __init__(self, dim, n_head):
        super().__init__()
        self.attention = CausalAttention(dim, n_head)
        self.fc1, self.fc2 = nn.Linear(dim, dim * 4), nn.Linear(dim * 4, dim)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, h):
        h = h + self.attention(self.norm1(h))
        return h + self.fc2(nn.functional.gelu(self.fc1(self.norm2(h))))

class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(20, 16)
        self.layers = nn.ModuleList(Layer(16, 2) for _ in range(2))
        self.lm_head = nn.Linear(16, 20)

    def forward(self, idx, targets):
        h = self.wte(idx)
        for layer in self.layers:
            h = layer(h)
        logp = self.lm_head(h).log_softmax(-1)
        return -logp.gather(-1, targets[..., None]).mean()

torch.manual_seed(42)
lm = LM()
optimizer = torch.optim.AdamW(lm.parameters(), lr=0.001)
tokens = torch.randint(0, 20, (4, 9))
for i in range(4):
    optimizer.zero_grad()
    loss = lm(tokens[:, :-1], tokens[:, 1:])
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.6f}")
