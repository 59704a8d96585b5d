# engine: gradtrace
# line: param.requires_grad = False
# must: requires_grad
# must: False
# never: smaller lr|no_grad\(\)
import torch
import torch.nn as nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(6, 8)
        self.fc = nn.Linear(8, 2)

    def forward(self, x):
        return self.fc(torch.relu(self.backbone(x)))


model = Net()
model.fc = nn.Linear(8, 3)
for param in model.parameters():
    param.requires_grad = False

x = torch.randn(5, 6)
y = torch.tensor([0, 1, 2, 0, 1])
optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.1)
for epoch in range(2):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
