# engine: torch
# cause: row 5 of the batch already holds nan before the model sees it
# line: features = torch.tensor(table, dtype=torch.float32)
# line: for inputs, targets in zip(features.split(8), prices.split(8)):
# line: table[5][2] = float("nan")
# must: nan|not finite
# must: row 5|\[5\]|\[5, ?2\]|element \(?5
# never: \blr\b|learning rate|divide
import torch
import torch.nn as nn

torch.manual_seed(0)
table = [[float(i + j) / 10 for j in range(4)] for i in range(16)]
# a missing price in the file
table[5][2] = float("nan")
features = torch.tensor(table, dtype=torch.float32)
prices = torch.randn(16, 1)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
criterion = nn.MSELoss()
for epoch in range(2):
    for inputs, targets in zip(features.split(8), prices.split(8)):
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
