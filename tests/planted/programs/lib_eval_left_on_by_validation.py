# engine: torch
# cause: validate() calls eval() and train() is not called again
# line: net.eval()
# must: eval
# must: train\(\)
# never: diverges|vanishes|optimizer
# right: return loss.item() ==> net.train(); return loss.item()
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv1d(3, 8, 3), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Flatten(), nn.Linear(8 * 10, 2))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)


def validate(x, y):
    net.eval()
    with torch.no_grad():
        loss = nn.functional.cross_entropy(net(x), y)
    return loss.item()


for epoch in range(3):
    for _ in range(2):
        x, y = torch.randn(8, 3, 12), torch.randint(0, 2, (8,))
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    validate(torch.randn(8, 3, 12), torch.randint(0, 2, (8,)))
