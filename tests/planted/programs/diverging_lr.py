# engine: torch
# cause: the learning rate of 10 overshoots: the loss grows from step to step until it is inf
# line: optimizer = torch.optim.SGD(model.parameters(), lr=10.0)
# line: optimizer.step()
# line: loss = nn.functional.mse_loss(model(x), y)
# must: grow|diverg|overshoot|larger
# must: step \d|step
# must: \blr\b|learning rate|smaller
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=10.0)
x, y = torch.randn(64, 8), torch.randn(64, 1)
for step in range(12):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
