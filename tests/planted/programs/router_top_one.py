# engine: torch
# cause: softmax over the one logit that topk left is always 1, so the router gets a gradient of zero
# line: weights = torch.softmax(top, dim=-1)
# must: softmax
# must: one|single|size 1|always 1|topk|length 1
# must: zero|0
# from: https://github.com/davidmrau/mixture-of-experts/issues/27
# ask: moe.router.weight
import torch
import torch.nn as nn

torch.manual_seed(0)


class MoE(nn.Module):
    def __init__(self, width=8, experts=4, k=1):
        super().__init__()
        self.k, self.router = k, nn.Linear(width, experts)
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(experts))

    def forward(self, x):
        top, index = self.router(x).topk(self.k, dim=-1)
        weights = torch.softmax(top, dim=-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            chosen = index == i
            rows = chosen.any(-1)
            if rows.any():
                out[rows] = out[rows] + (weights * chosen).sum(-1)[rows, None] * expert(x[rows])
        return out


moe = MoE()
optimizer = torch.optim.Adam(moe.parameters(), lr=1e-3)
x, y = torch.randn(32, 8), torch.randn(32, 8)
for step in range(2):
    optimizer.zero_grad()
    loss = (moe(x) - y).pow(2).mean()
    loss.backward()
    optimizer.step()
