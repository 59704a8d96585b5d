import torch
import torch.nn.functional as F
from torch import nn

class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv_a, self.bn_a = nn.Conv2d(3, 8, 3, padding="same"), nn.BatchNorm2d(8)
        self.conv_b, self.bn_b = nn.Conv2d(8, 16, 3, padding="same"), nn.BatchNorm2d(16)
        self.classify = nn.Linear(256, 6)

    def forward(self, img):
        h = F.max_pool2d(F.relu(self.bn_a(self.conv_a(img)), inplace=True), 2)
        h = F.relu(F.max_pool2d(self.bn_b(self.conv_b(h)), 2))
        return self.classify(h.flatten(1))

torch.manual_seed(0)
model = CNN().to(memory_format=torch.channels_last)
images = torch.randn(10, 3, 16, 16)
labels = torch.randint(0, 6, (10,))
images = images.contiguous(memory_format=torch.channels_last)
optimizer = torch.optim.Adam(model.parameters(), lr=0.001, fused=True)
criterion = nn.CrossEntropyLoss()

model.train()
for epoch in range(5):
    out = model(images)
    loss = criterion(out, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}")
with torch.no_grad():
    model.eval()
    print(f"{model(images).mean().item():.5f}")
