# engine: gradtrace
# line: with torch.no_grad():
# must: no_grad
# must: out of
# never: smaller lr|requires_grad_\(|requires_grad=True
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def evaluate(x):
    with torch.no_grad():
        return model(x)


x = torch.randn(6, 3)
y = torch.tensor([0, 1, 1, 0, 1, 0])
for epoch in range(3):
    logits = evaluate(x)
    loss = criterion(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
