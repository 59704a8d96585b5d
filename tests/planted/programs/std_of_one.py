# engine: gradtrace
# line: spread = z.std(dim=0)
# must: std
# must: one|1|single
# never: smaller lr|learning rate
import torch
import torch.nn as nn

torch.manual_seed(0)
data = torch.randn(9, 4)
encoder = nn.Linear(4, 2)
opt = torch.optim.Adam(encoder.parameters(), lr=1e-2)

batch = 4
for start in range(0, len(data), batch):
    x = data[start:start + batch]
    z = encoder(x)
    spread = z.std(dim=0)
    variance_loss = torch.relu(1 - spread).mean()
    invariance = (z ** 2).mean()
    loss = variance_loss + 0.1 * invariance
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(start, loss.item())
