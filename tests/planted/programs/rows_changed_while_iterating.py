# engine: torch
# cause: iterating gives views of one unbind, and views of several outputs cannot be changed in place
# line: row /= row.sum()
# must: view|unbind|row
# must: in.?place|div_|/=
import torch
import torch.nn as nn

torch.manual_seed(0)
network = nn.Sequential(nn.Linear(6, 12), nn.Softplus(), nn.Linear(12, 4), nn.Softplus())
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
x, shares = torch.randn(8, 6), torch.softmax(torch.randn(8, 4), 1)
for step in range(2):
    out = network(x)
    for row in out:
        row /= row.sum()
    loss = (out - shares).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
