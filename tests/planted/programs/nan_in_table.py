# engine: gradtrace
# line: [0.2, float("nan"), 1.5, 0.3],
# line: table = torch.tensor([
# must: nan
# must: row 3|row 2|table
# never: learning rate|smaller lr|clamp
import torch
import torch.nn as nn

torch.manual_seed(0)

table = torch.tensor([
    [1.2, 0.4, 0.1, 0.9],
    [0.7, 0.1, 1.1, 0.2],
    [0.3, 0.8, 0.5, 0.6],
    [0.2, float("nan"), 1.5, 0.3],
    [0.9, 0.3, 0.2, 1.0],
])
labels = torch.tensor([0, 1, 1, 0, 1])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.fc2 = nn.Linear(8, 2)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


model = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    optimizer.zero_grad()
    loss = criterion(model(table), labels)
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
