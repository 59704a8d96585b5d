# engine: torch
# cause: view() makes (time, batch, width) of (batch, time, width) without moving anything: the sentences are mixed up
# line: out, _ = self.rnn(x.view(x.size(1), x.size(0), -1))
# must: view
# must: transpose|permute
# must: order|mix
# never: diverges|vanishes
# right: x.view(x.size(1), x.size(0), -1) ==> x.transpose(0, 1)
import torch
from torch import nn

torch.manual_seed(0)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.rnn = nn.Embedding(30, 16), nn.GRU(16, 16)
        self.out = nn.Linear(16, 5)

    def forward(self, tokens):
        x = self.embed(tokens)
        out, _ = self.rnn(x.view(x.size(1), x.size(0), -1))
        return self.out(out[-1])


model = Tagger()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(3):
    tokens, labels = torch.randint(0, 30, (6, 9)), torch.randint(0, 5, (6,))
    loss = nn.functional.cross_entropy(model(tokens), labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
