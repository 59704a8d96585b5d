# Logistic regression with a module, a loss and an optimiser.
#     gradtrace run examples/logistic_regression.py
import torch
from torch import nn

points = torch.tensor([[0.5, 1.0], [1.5, 2.0], [2.0, 0.5], [3.0, 3.5], [3.5, 2.5], [4.0, 4.0]])
labels = torch.tensor([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])

model = nn.Linear(2, 1)
nn.init.zeros_(model.weight)
nn.init.zeros_(model.bias)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
criterion = nn.BCEWithLogitsLoss()

print(model)
for epoch in range(61):
    optimizer.zero_grad()
    logits = model(points).squeeze(1)
    loss = criterion(logits, labels)
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        accuracy = ((logits > 0) == (labels > 0.5)).float().mean()
        print(f"epoch {epoch:2d}  loss {loss.item():.4f}  accuracy {accuracy.item():.2f}")
print(torch.sigmoid(model(points)).detach().flatten().round(decimals=2))
