# engine: torch
# cause: the classes' log-probabilities are normalised over the images of the batch
# line: return torch.log_softmax(self.fc(h), dim=0)
# must: batch|samples
# must: dim=1
# never: diverges|vanishes
# right: dim=0) ==> dim=1)
import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.fc = nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.Linear(6, 10)

    def forward(self, x):
        h = torch.relu(self.norm(self.conv(x))).mean((2, 3))
        return torch.log_softmax(self.fc(h), dim=0)


model = Net()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(3):
    x, y = torch.randn(8, 1, 10, 10), torch.randint(0, 10, (8,))
    loss = nn.functional.nll_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
