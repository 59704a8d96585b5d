import torch
import torch.nn as nn
import torch.nn.functional as F

class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
        self.h = h

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.attn(self.ln1(x)).chunk(3, dim=-1)
        q, k, v = [z.view(b, t, self.h, -1).transpose(1, 2) for z in (q, k, v)]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln2(x))

torch.manual_seed(42)
emb = nn.Embedding(20, 16)
blocks = nn.Sequential(Block(16, 2), Block(16, 2))
head = nn.Linear(16, 20)
model = nn.ModuleList([emb, blocks, head])
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
seq = torch.randint(0, 20, (4, 9))
for step in range(4):
    logits = head(blocks(emb(seq[:, :-1])))
    loss = F.cross_entropy(logits.flatten(0, 1), seq[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"{loss.item():.6f}")
