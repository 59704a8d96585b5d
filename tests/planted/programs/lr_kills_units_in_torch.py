# engine: torch
# cause: a learning rate of 500 makes the first layers so large that no relu lets a gradient back after the third step
# line: optimizer = torch.optim.SGD(model.parameters(), lr=500, momentum=0.9)
# must: lr=500
# must: step \d
# must: times as large|diverg|overshoot
# right: lr=500 ==> lr=0.05
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = nn.Linear(8, 32), nn.Linear(32, 3)

    def forward(self, x):
        return self.out(F.relu(self.hidden(x)))


model = Classifier()
optimizer = torch.optim.SGD(model.parameters(), lr=500, momentum=0.9)
images, labels = torch.rand(64, 8), torch.randint(0, 3, (64,))
for epoch in range(8):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
