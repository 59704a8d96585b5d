# engine: torch
# cause: -1e9 does not fit into float16
# line: scores = scores.masked_fill(~mask, -1e9)
# must: -1e9|1e9
# must: float16 holds|more than float16
# never: learning rate|needs float32
import torch
from torch import nn

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x, mask):
        scores = self.q(x) @ self.k(x).transpose(1, 2)
        scores = scores.masked_fill(~mask, -1e9)
        return scores.softmax(-1) @ self.v(x)


model = Attention().half()
x, mask = torch.randn(2, 5, 16).half(), torch.ones(5, 5, dtype=torch.bool).tril()
loss = model(x, mask).float().pow(2).mean()
loss.backward()
