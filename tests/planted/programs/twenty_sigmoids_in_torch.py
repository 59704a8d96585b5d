# engine: torch
# cause: twenty sigmoids in a row shrink the gradient by a factor of some 10 in each layer
# line: x = torch.sigmoid(layer(x))
# must: sigmoid
# must: vanish|shrink|smaller|1e-\d+|e-1\d|factor
import torch
import torch.nn as nn

torch.manual_seed(0)


class Deep(nn.Module):
    def __init__(self, depth=20, width=16):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        for layer in self.layers:
            x = torch.sigmoid(layer(x))
        return self.head(x)


model = Deep()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(32, 16), torch.randint(0, 2, (32,))
for epoch in range(2):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
