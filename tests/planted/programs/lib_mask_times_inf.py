# engine: torch
# cause: 0 * -inf: the mask's zeros are multiplied by an infinity
# line: return (1 - mask[:, None, None, :]) * float("-inf")
# must: nan
# must: 0 by -inf|0 times|0 \* ?-?inf
# never: learning rate|lr=
import torch
from torch import nn

torch.manual_seed(0)


def extended(mask):
    return (1 - mask[:, None, None, :]) * float("-inf")


class Layer(nn.Module):
    def __init__(self, width=16, heads=2):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x, bias):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / (d / self.heads) ** 0.5 + bias
        return self.norm(x + self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, d)))


embed, layer, head = nn.Embedding(30, 16), Layer(), nn.Linear(16, 2)
model = nn.ModuleList([embed, layer, head])
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(2):
    ids, mask = torch.randint(0, 30, (4, 7)), (torch.arange(7) < torch.tensor([[7], [5], [6], [4]])).float()
    logits = head(layer(embed(ids), extended(mask))[:, 0])
    loss = nn.functional.cross_entropy(logits, torch.tensor([0, 1, 1, 0]))
    opt.zero_grad()
    loss.backward()
    opt.step()
