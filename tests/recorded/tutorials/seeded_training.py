# A seeded classifier: data, split, shuffled batches, initial parameters and dropout are drawn from one generator
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(42)
X = torch.cat([torch.randn(60, 4) + 1, torch.randn(60, 4) - 1])
y = torch.cat([torch.zeros(60, dtype=torch.long), torch.ones(60, dtype=torch.long)])
train, test = random_split(TensorDataset(X, y), [96, 24])
print(train.indices[:8], test.indices[:8])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 2))

    def forward(self, x):
        return self.layers(x)


net = Net()
print(net.layers[0].weight[:2])
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss()
for epoch in range(5):
    net.train()
    total = 0.0
    for inputs, labels in DataLoader(train, batch_size=16, shuffle=True):
        optimizer.zero_grad()
        loss = criterion(net(inputs), labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(inputs)
    net.eval()
    with torch.no_grad():
        right = sum((net(inputs).argmax(1) == labels).sum().item() for inputs, labels in DataLoader(test, batch_size=8))
    print(f"epoch {epoch + 1}: loss {total / len(train):.4f}, accuracy {right / len(test):.3f}")
