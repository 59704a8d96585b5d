# engine: gradtrace
# ask: model.weight
# line: loss = -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()
# must: log
# must: inf|0
# must: with_logits|clamp|eps
# never: smaller lr|retain
import torch
import torch.nn as nn

torch.manual_seed(2)
model = nn.Linear(2, 1)
x = torch.tensor([[80.0, 50.0], [1.0, 2.0], [-3.0, 1.0], [60.0, 90.0]])
y = torch.tensor([[1.0], [0.0], [0.0], [1.0]])
with torch.no_grad():
    model.weight.fill_(1.0)
    model.bias.fill_(0.0)

optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(2):
    p = torch.sigmoid(model(x))
    loss = -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
