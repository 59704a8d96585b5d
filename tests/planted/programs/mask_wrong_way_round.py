# engine: torch
# cause: the mask keeps the padding and zeroes the tokens; as padding features are 0, nothing is left
# line: h = self.mix(self.embed(tokens)) * padding.unsqueeze(-1).float()
# must: mask|padding|multipl|\*
# must: zero|0
import torch
import torch.nn as nn

torch.manual_seed(0)


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 8, padding_idx=0)
        self.mix, self.head = nn.Linear(8, 8, bias=False), nn.Linear(8, 3)

    def forward(self, tokens):
        padding = tokens == 0
        h = self.mix(self.embed(tokens)) * padding.unsqueeze(-1).float()
        return self.head(h.sum(1))


model = Bag()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
tokens = torch.randint(1, 30, (8, 10))
tokens[:, 8:] = 0
labels = torch.randint(0, 3, (8,))
for step in range(2):
    loss = nn.functional.cross_entropy(model(tokens), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
