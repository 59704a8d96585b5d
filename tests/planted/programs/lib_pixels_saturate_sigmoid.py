# engine: torch
# cause: pixels of 0 to 255 make the sums before the sigmoids so large that all of them are 0 or 1
# line: h = torch.sigmoid(self.enc(x))
# line: images = torch.randint(0, 256, (16, 64)).float()
# must: sigmoid
# must: saturat|flat
# must: 255|scale|normali[sz]e|/ 255
# never: diverges|learning rate|never used
# right: model(images), images / 255 ==> model(images / 255), images / 255
import torch
from torch import nn

torch.manual_seed(0)


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(64, 24), nn.Linear(24, 64)

    def forward(self, x):
        h = torch.sigmoid(self.enc(x))
        return self.dec(h)


model = Autoencoder()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
images = torch.randint(0, 256, (16, 64)).float()
for step in range(3):
    loss = nn.functional.mse_loss(model(images), images / 255)
    opt.zero_grad()
    loss.backward()
    opt.step()
