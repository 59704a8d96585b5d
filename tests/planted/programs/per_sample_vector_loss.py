# engine: gradtrace
# line: criterion = nn.CrossEntropyLoss(reduction="none")
# line: loss = criterion(model(x), y)
# must: mean\(\)|sum\(\)
# must: scalar|several|one number|shape
# never: smaller lr
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Linear(3, 2)
criterion = nn.CrossEntropyLoss(reduction="none")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(8, 3)
y = torch.randint(0, 2, (8,))
for epoch in range(2):
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
