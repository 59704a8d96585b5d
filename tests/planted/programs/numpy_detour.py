# engine: torch
# cause: the augmentation goes through numpy, so what comes back has no history
# line: return torch.from_numpy(values.astype("float32"))
# line: values = np.clip(x.detach().numpy(), -1.0, 1.0)
# must: numpy|detach
# must: history|graph|cut|None
# must: encoder
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)


def squash(x):
    values = np.clip(x.detach().numpy(), -1.0, 1.0)
    return torch.from_numpy(values.astype("float32"))


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(10, 4)
        self.decoder = nn.Linear(4, 10)

    def forward(self, x):
        code = self.encoder(x)
        return self.decoder(squash(code))


model = AutoEncoder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
data = torch.randn(32, 10)
for epoch in range(2):
    loss = nn.functional.mse_loss(model(data), data)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
