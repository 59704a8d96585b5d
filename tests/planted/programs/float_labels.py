# engine: gradtrace
# line: labels = torch.tensor([0.0, 2.0, 1.0, 1.0])
# must: long|int64
# must: labels
# never: smaller lr|before backward was called
import torch
import torch.nn as nn

torch.manual_seed(0)
features = torch.randn(4, 5)
labels = torch.tensor([0.0, 2.0, 1.0, 1.0])
model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(2):
    logits = model(features)
    loss = criterion(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
