# engine: gradtrace
# ask: model.weight
# line: optimizer.zero_grad()
# must: zero_grad
# must: before
# never: smaller lr|detach
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
x = torch.randn(16, 3)
y = x @ torch.tensor([[1.0], [-2.0], [0.5]])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.MSELoss()
before = model.weight.detach().clone()
for epoch in range(5):
    output = model(x)
    loss = criterion(output, y)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    print(epoch, loss.item())
print("changed:", not torch.equal(before, model.weight))
