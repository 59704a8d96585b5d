import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 3)
        self.second = nn.Linear(3, 1)
        self.spare = nn.Linear(3, 1)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))

class Trainer:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)

    def fit(self):
        for i in range(3):
            loss = self.net(torch.randn(8, 4)).pow(2).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()

def main():
    torch.manual_seed(0)
    model = Net()
    Trainer(model).fit()

main()
