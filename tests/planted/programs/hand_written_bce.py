# engine: torch
# cause: sigmoid saturates at 1, so log(1 - p) is -inf and 0 * -inf is nan
# line: return -(t * torch.log(p) + (1 - t) * torch.log(1 - p)).mean()
# must: log
# must: -?inf
# must: nan|not finite
# never: data|row \d+ of
import torch
import torch.nn as nn

torch.manual_seed(0)


def bce(p, t):
    return -(t * torch.log(p) + (1 - t) * torch.log(1 - p)).mean()


model = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
# ages, incomes, counts as they came
x = torch.tensor([[35.0, 52_000.0, 3.0], [22.0, 18_000.0, 0.0], [61.0, 91_000.0, 7.0], [48.0, 33_000.0, 1.0]])
t = torch.tensor([[1.0], [0.0], [1.0], [0.0]])
with torch.no_grad():
    model[2].weight.abs_()
for epoch in range(2):
    p = torch.sigmoid(model(x))
    loss = bce(p, t)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
