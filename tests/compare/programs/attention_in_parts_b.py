import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, source: nn.MultiheadAttention):
        super().__init__()
        d = source.embed_dim
        self.n = source.num_heads
        wq, wk, wv = source.in_proj_weight.detach().chunk(3)
        bq, bk, bv = source.in_proj_bias.detach().chunk(3)
        self.query, self.key, self.value, self.output = (nn.Linear(d, d) for _ in range(4))
        for lin, w, b in ((self.query, wq, bq), (self.key, wk, bk), (self.value, wv, bv)):
            lin.weight.data.copy_(w)
            lin.bias.data.copy_(b)
        self.output.load_state_dict(source.out_proj.state_dict())

    def forward(self, x, valid):
        B, T, D = x.shape
        heads = lambda t: t.reshape(B, T, self.n, D // self.n).transpose(1, 2)
        q, k, v = heads(self.query(x)), heads(self.key(x)), heads(self.value(x))
        score = q @ k.transpose(2, 3) / (D // self.n) ** 0.5
        score = torch.where(valid[:, None, None, :], score, torch.tensor(-1e9))
        return self.output((score.softmax(3) @ v).transpose(1, 2).reshape(B, T, D))

torch.manual_seed(11)
ref = nn.MultiheadAttention(16, 4, batch_first=True)
layernorm = nn.LayerNorm(16)
regress = nn.Linear(16, 1)
seq = torch.randn(5, 6, 16)
n_valid = torch.tensor([6, 4, 5, 3, 6])
valid = torch.arange(6).expand(5, 6) < n_valid.unsqueeze(1)
goal = torch.randn(5, 1)
attention = Attention(ref)
optimizer = torch.optim.SGD(list(attention.parameters()) + list(layernorm.parameters()) + list(regress.parameters()), lr=0.05)
for _ in range(5):
    optimizer.zero_grad()
    z = layernorm(attention(seq, valid) + seq)
    pooled = (z * valid.unsqueeze(-1)).sum(dim=1) / n_valid.unsqueeze(-1)
    loss = (regress(pooled) - goal).square().mean()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.6f}")
