# engine: torch
# cause: .data in forward cuts the first convolution out of the graph
# line: x = self.conv1(x).data
# must: \.data
# must: conv1
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 4, 3), nn.Conv2d(4, 8, 3)
        self.fc = nn.Linear(8 * 4 * 4, 10)

    def forward(self, x):
        x = self.conv1(x).data
        x = F.max_pool2d(F.relu(x), 2)
        x = F.relu(self.conv2(x))
        return self.fc(x.flatten(1))


net = LeNet()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
images, labels = torch.randn(8, 1, 14, 14), torch.randint(0, 10, (8,))
for step in range(2):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(images), labels)
    loss.backward()
    optimizer.step()
