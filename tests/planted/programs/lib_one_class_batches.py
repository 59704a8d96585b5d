# engine: torch
# cause: the data are sorted by class and not shuffled, so each batch has one class alone
# line: loader = DataLoader(TensorDataset(x, y), batch_size=8)
# line: loss = nn.functional.cross_entropy(model(xs), ys)
# must: one class|single class|one label|same label
# must: shuffle
# never: vanishes|learning rate
# right: batch_size=8) ==> batch_size=8, shuffle=True)
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
y = torch.arange(4).repeat_interleave(8)
x = torch.randn(32, 1, 6, 6) + y.view(-1, 1, 1, 1)
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 4))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
loader = DataLoader(TensorDataset(x, y), batch_size=8)
for xs, ys in loader:
    loss = nn.functional.cross_entropy(model(xs), ys)
    opt.zero_grad()
    loss.backward()
    opt.step()
