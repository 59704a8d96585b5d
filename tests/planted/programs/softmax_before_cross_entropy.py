# engine: gradtrace
# line: return F.softmax(self.fc(x), dim=1)
# line: loss = criterion(model(x), y)
# must: softmax
# must: twice|already|second|logits
# never: smaller lr|zero_grad
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return F.softmax(self.fc(x), dim=1)


model = Classifier()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
x = torch.randn(15, 4)
y = torch.randint(0, 3, (15,))
for epoch in range(5):
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
