# engine: torch
# cause: the decoder gets the rows of the codebook alone, so no gradient comes to the encoder
# line: index = torch.cdist(z, self.codebook.weight).argmin(1)
# line: quantised = self.codebook(index)
# must: enc
# must: argmin|index|integer
# never: vanishes|diverges|learning rate
import torch
from torch import nn

torch.manual_seed(0)


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec, self.codebook = nn.Linear(12, 6), nn.Linear(6, 12), nn.Embedding(16, 6)

    def forward(self, x):
        z = self.enc(x)
        index = torch.cdist(z, self.codebook.weight).argmin(1)
        quantised = self.codebook(index)
        return self.dec(quantised)


model = VQVAE()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(3):
    x = torch.randn(16, 12)
    loss = nn.functional.mse_loss(model(x), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
