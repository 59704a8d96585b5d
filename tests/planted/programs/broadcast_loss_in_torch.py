# engine: torch
# cause: predictions (64, 1) minus targets (64,) broadcast to (64, 64), so each prediction is fitted to the mean
# line: loss = ((model(x) - y) ** 2).mean()
# must: broadcast|\[?\(?64, ?64
# must: 64
import torch
import torch.nn as nn

torch.manual_seed(0)
x = torch.randn(64, 3)
y = x @ torch.tensor([1.0, -2.0, 0.5]) + 0.3
model = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(5):
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
