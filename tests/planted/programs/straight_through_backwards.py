# engine: torch
# cause: the straight-through trick detaches the wrong term: the gradient goes through the argmin's codes, not to the encoder
# line: quantised = codes + (z - codes).detach()
# must: detach
# must: encoder
import torch
import torch.nn as nn

torch.manual_seed(0)


class VQ(nn.Module):
    def __init__(self, width=6, size=12):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(10, width), nn.Linear(width, 10)
        self.codebook = nn.Embedding(size, width)

    def forward(self, x):
        z = self.encoder(x)
        index = torch.cdist(z, self.codebook.weight).argmin(1)
        codes = self.codebook(index)
        quantised = codes + (z - codes).detach()
        return self.decoder(quantised)


model = VQ()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x = torch.randn(32, 10)
for step in range(2):
    loss = (model(x) - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
