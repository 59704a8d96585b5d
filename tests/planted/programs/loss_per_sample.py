# engine: torch
# cause: reduction="none" leaves one loss for each sample, and backward needs a scalar
# line: criterion = nn.CrossEntropyLoss(reduction="none")
# line: loss = criterion(model(x), y)
# must: scalar|one (element|number)
# must: mean\(\)|sum\(\)|reduction
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Flatten(), nn.Linear(36, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss(reduction="none")
x, y = torch.randn(8, 1, 6, 6), torch.randint(0, 5, (8,))
for epoch in range(2):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
