# engine: torch
# cause: the hidden layer's bias of -20 makes every input of relu negative, so its gradient is 0
# line: h = F.relu(self.fc1(x))
# line: nn.init.constant_(self.fc1.bias, -20.0)
# must: relu
# must: (zero|0)
# must: negative|below|<= ?0|< ?0|dead|at most 0|not positive
# from: https://cyberinsist.com/blog/debugging-dead-neurons-relu-production-fixes
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(20, 32), nn.Linear(32, 2)
        nn.init.constant_(self.fc1.bias, -20.0)

    def forward(self, x):
        h = F.relu(self.fc1(x))
        return self.fc2(h)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(64, 20), torch.randint(0, 2, (64,))
for epoch in range(3):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
