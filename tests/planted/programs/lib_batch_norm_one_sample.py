# engine: torch
# cause: nine samples in batches of four leave one for the last batch, of which BatchNorm takes no spread
# line: loader = DataLoader(TensorDataset(x, y), batch_size=4)
# line: loss = nn.functional.cross_entropy(model(xs), ys)
# must: batch.?norm
# must: one sample|1 sample|one value|1 value|more than 1
# must: drop_last
# never: detach|learning rate
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
x, y = torch.randn(9, 6), torch.randint(0, 3, (9,))
loader = DataLoader(TensorDataset(x, y), batch_size=4)
for xs, ys in loader:
    loss = nn.functional.cross_entropy(model(xs), ys)
    opt.zero_grad()
    loss.backward()
    opt.step()
