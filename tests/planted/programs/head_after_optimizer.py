# engine: torch
# cause: the head is replaced after the optimizer was made, so the optimizer still holds the old head's parameters
# line: model.head = nn.Linear(16, 4)
# line: optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
# must: head
# must: optimi[sz]er
# must: not (in|held|given|updated|among)|other|old|before|does not (hold|have|know)
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Pretrained(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.body, self.head = nn.Linear(8, 16), nn.Linear(16, classes)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))


model = Pretrained()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
# four classes for the new task
model.head = nn.Linear(16, 4)
x, y = torch.randn(32, 8), torch.randint(0, 4, (32,))
for epoch in range(3):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
