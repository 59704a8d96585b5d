# engine: torch
# cause: zero_grad stands between backward and step, so step sees no gradient
# line: optimizer.zero_grad()
# must: zero_grad
# must: step
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(7, 14), nn.ReLU(), nn.Linear(14, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x, y = torch.randn(32, 7), torch.randn(32, 1)
for epoch in range(3):
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
