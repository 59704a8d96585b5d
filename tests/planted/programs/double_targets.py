# engine: gradtrace
# line: y = torch.tensor([[0.5], [1.5], [2.0]], dtype=torch.float64)
# line: x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=torch.float64)
# must: float64|double
# must: float32|\.float\(\)
# never: smaller lr|before backward was called
import torch
import torch.nn as nn

torch.manual_seed(0)
x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=torch.float64)
y = torch.tensor([[0.5], [1.5], [2.0]], dtype=torch.float64)


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(2, 4)
        self.out = nn.Linear(4, 1)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))


model = Regressor()
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(2):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
