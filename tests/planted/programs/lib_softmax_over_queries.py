# engine: torch
# cause: the attention's softmax goes over the queries, so a token's weights do not sum to 1
# line: weights = scores.softmax(dim=-2)
# must: softmax
# must: quer|dim=-2
# must: dim=-1|keys
# never: diverges|vanishes
# right: dim=-2 ==> dim=-1
import torch
from torch import nn

torch.manual_seed(0)


class CrossAttention(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x, context):
        q, k, v = self.q(x), self.k(context), self.v(context)
        scores = q @ k.transpose(1, 2) / k.size(-1) ** 0.5
        weights = scores.softmax(dim=-2)
        return x + weights @ v


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.cross, self.head = nn.Embedding(40, 16), CrossAttention(), nn.Linear(16, 40)

    def forward(self, tokens, memory):
        return self.head(self.cross(self.embed(tokens), memory))


model = Decoder()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(3):
    tokens, memory = torch.randint(0, 40, (3, 8)), torch.randn(3, 5, 16)
    loss = nn.functional.cross_entropy(model(tokens[:, :-1], memory).flatten(0, 1), tokens[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
