# engine: torch
# cause: the residual of the block is detached, so the embedding learns through the feed-forward part alone or not at all
# line: x = x.detach() + self.down(torch.relu(self.up(self.norm(x.detach()))))
# must: detach
# never: diverges|vanishes|optimi[sz]er .*does not hold
# ask: net.embed.weight
import torch
from torch import nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 32), nn.Linear(32, width)

    def forward(self, x):
        x = x.detach() + self.down(torch.relu(self.up(self.norm(x.detach()))))
        return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.block, self.head = nn.Embedding(30, 16), Block(), nn.Linear(16, 30)

    def forward(self, ids):
        return self.head(self.block(self.embed(ids)))


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(3):
    ids = torch.randint(0, 30, (4, 9))
    logits = net(ids[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
