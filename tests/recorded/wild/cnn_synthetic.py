import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1729)


class LeNet(nn.Module):

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 5)
        self.conv2 = nn.Conv2d(4, 8, 3)
        self.fc1 = nn.Linear(8 * 2 * 2, 20)
        self.fc2 = nn.Linear(20, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), (2, 2))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = x.view(-1, self.num_flat_features(x))
        x = F.relu(self.fc1(x))
        return self.fc2(x)

    def num_flat_features(self, x):
        size = x.size()[1:]
        num_features = 1
        for s in size:
            num_features *= s
        return num_features


net = LeNet()
print(net)
images = torch.zeros(12, 1, 16, 16)
labels = torch.tensor([i % 3 for i in range(12)])
for i, label in enumerate(labels):
    images[i, 0, :, 4 * label:4 * label + 4] = 1.0
images += 0.1 * torch.randn(images.shape)

optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
running_loss = 0.0
for epoch in range(12):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(images), labels)
    loss.backward()
    optimizer.step()
    running_loss += loss.item()
    if epoch % 4 == 3:
        print('[%d] loss: %.3f' % (epoch + 1, running_loss / 4))
        running_loss = 0.0

_, predicted = torch.max(net(images), 1)
print('Predicted: ', ' '.join('%5s' % ('left', 'mid', 'right')[predicted[j]] for j in range(6)))
for name, p in net.named_parameters():
    print(f'{name:15s} {str(tuple(p.shape)):18s} {p.grad.abs().mean():.4f}')
