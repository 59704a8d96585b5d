# engine: torch
# cause: an in-place relu_ changes the result of sigmoid that sigmoid keeps for its derivative
# line: attended = gate.sub_(0.5).relu_()
# must: in.?place|sub_|relu_
# must: sigmoid
import torch
import torch.nn as nn

torch.manual_seed(0)


class SqueezeExcite(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.conv = nn.Conv2d(3, channels, 3, padding=1)
        self.fc = nn.Linear(channels, channels)

    def forward(self, x):
        x = self.conv(x)
        gate = torch.sigmoid(self.fc(x.mean((2, 3))))
        attended = gate.sub_(0.5).relu_()
        return x * attended[:, :, None, None]


model, head = SqueezeExcite(), nn.Linear(8, 5)
optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
images, labels = torch.randn(4, 3, 8, 8), torch.randint(0, 5, (4,))
logits = head(model(images).mean((2, 3)))
loss = nn.functional.cross_entropy(logits, labels)
optimizer.zero_grad()
loss.backward()
optimizer.step()
