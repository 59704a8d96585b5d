# engine: torch
# ask: model.decoder.weight
# cause: the decoder shares the embedding's weight, and both ways to the loss are cut off
# line: h = self.encoder(self.embed(tokens).detach())
# line: return F.linear(h, self.decoder.weight.detach())
# must: None
# must: detach
# never: no such name
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class TiedLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.encoder = nn.Embedding(30, 16), nn.Linear(16, 16)
        self.decoder = nn.Linear(16, 30, bias=False)
        self.decoder.weight = self.embed.weight

    def forward(self, tokens):
        h = self.encoder(self.embed(tokens).detach())
        return F.linear(h, self.decoder.weight.detach())


model = TiedLM()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    tokens = torch.randint(0, 30, (4, 9))
    loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
