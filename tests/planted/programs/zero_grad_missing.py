# engine: torch
# cause: nothing clears the gradients, so those of every step add up
# line: loss.backward()
# line: optimizer.step()
# must: zero_grad
# must: accumulat|add|sum|cleared
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
criterion = nn.CrossEntropyLoss()
x, y = torch.randn(40, 6), torch.randint(0, 3, (40,))
for epoch in range(4):
    for inputs, labels in zip(x.split(20), y.split(20)):
        loss = criterion(model(inputs), labels)
        loss.backward()
        optimizer.step()
