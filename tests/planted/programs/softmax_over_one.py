# engine: torch
# cause: softmax runs over a dimension of size 1, so it is always 1 and passes no gradient on
# line: return torch.softmax(self.net(x), dim=1)
# must: softmax
# must: size 1|one (class|element|entry|value)|single|length 1|always 1|dim
# must: zero|0
import torch
import torch.nn as nn

torch.manual_seed(0)


class Churn(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(9, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        return torch.softmax(self.net(x), dim=1)


model = Churn()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x, y = torch.randn(32, 9), torch.randint(0, 2, (32, 1)).float()
for epoch in range(3):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
