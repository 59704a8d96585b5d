# engine: gradtrace
# line: optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
# line: model.fc = nn.Linear(16, 3)
# must: optimi[sz]er
# must: model.fc|fc.weight
# never: smaller lr|detach
import torch
import torch.nn as nn

torch.manual_seed(0)


class Pretrained(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 16)
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        return self.fc(torch.relu(self.body(x)))


model = Pretrained()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
# new task: three classes
model.fc = nn.Linear(16, 3)

x = torch.randn(12, 6)
y = torch.randint(0, 3, (12,))
loss_fn = nn.CrossEntropyLoss()
for epoch in range(5):
    loss = loss_fn(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
print(model.fc.weight.grad.norm())
