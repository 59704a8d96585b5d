# engine: gradtrace
# line: total_loss = total_loss + criterion(model(x), y)
# must: total_loss
# must: detach|inside|each|start|item
# never: smaller lr
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
batches = [(torch.randn(5, 4), torch.randint(0, 2, (5,))) for _ in range(4)]

total_loss = 0.0
for i, (x, y) in enumerate(batches):
    total_loss = total_loss + criterion(model(x), y)
    optimizer.zero_grad()
    total_loss.backward()
    optimizer.step()
    print(i, float(total_loss))
