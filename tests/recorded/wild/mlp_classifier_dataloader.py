import torch
from torch import nn, optim
from torch.utils.data import Dataset, DataLoader, random_split


class SpiralDataset(Dataset):
    """Points on two spirals."""

    def __init__(self, n_per_class=60, noise=0.1):
        self.xs, self.ys = [], []
        for label in range(2):
            r = torch.linspace(0.1, 1, n_per_class)
            t = torch.linspace(label * 3.1416, label * 3.1416 + 4, n_per_class) + noise * torch.randn(n_per_class)
            self.xs.append(torch.stack([r * torch.sin(t), r * torch.cos(t)], dim=1))
            self.ys.append(torch.full((n_per_class,), label, dtype=torch.long))
        self.xs = torch.cat(self.xs)
        self.ys = torch.cat(self.ys)

    def __len__(self):
        return len(self.xs)

    def __getitem__(self, idx):
        return self.xs[idx], self.ys[idx]


class Net(nn.Module):
    def __init__(self, n_hidden=16):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(2, n_hidden)
        self.fc2 = nn.Linear(n_hidden, n_hidden)
        self.out = nn.Linear(n_hidden, 2)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return self.out(x)


def train(model, loader, optimizer, criterion):
    model.train()
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * xb.size(0)
    return total / len(loader.dataset)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    correct = 0
    for xb, yb in loader:
        correct += (model(xb).argmax(dim=1) == yb).sum().item()
    return correct / len(loader.dataset)


if __name__ == '__main__':
    torch.manual_seed(1)
    dataset = SpiralDataset()
    train_set, test_set = random_split(dataset, [100, 20])
    train_loader = DataLoader(train_set, batch_size=25, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=20)
    net = Net()
    print(net)
    opt = optim.Adam(net.parameters(), lr=0.01)
    crit = nn.CrossEntropyLoss()
    for epoch in range(1, 11):
        loss = train(net, train_loader, opt, crit)
        if epoch % 2 == 0:
            print(f"epoch {epoch:2d}  loss {loss:.4f}  test acc {evaluate(net, test_loader):.2%}")
