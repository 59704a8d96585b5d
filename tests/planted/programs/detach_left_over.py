# engine: gradtrace
# ask: model.encoder.weight
# line: features = self.encoder(x).detach()
# must: detach
# must: leave out|remove|without
# never: smaller lr|requires_grad_
import torch
import torch.nn as nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(5, 4)
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        features = self.encoder(x).detach()
        return self.head(torch.tanh(features))


model = Model()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(6, 5), torch.randn(6, 1)
for i in range(3):
    loss = ((model(x) - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
