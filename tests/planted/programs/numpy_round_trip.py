# engine: gradtrace
# ask: conv.weight
# line: arr = feats.detach().numpy()
# line: pooled = torch.from_numpy(arr).mean(1)
# must: numpy
# must: history|graph
# never: smaller lr|requires_grad_
import torch
import torch.nn as nn

torch.manual_seed(0)
conv = nn.Linear(4, 6)
head = nn.Linear(1, 1)
x = torch.randn(3, 4)
y = torch.randn(3, 1)
opt = torch.optim.SGD([*conv.parameters(), *head.parameters()], lr=0.1)


def pool(feats):
    arr = feats.detach().numpy()
    pooled = torch.from_numpy(arr).mean(1)
    return pooled.unsqueeze(1)


for i in range(2):
    out = head(pool(torch.relu(conv(x))))
    loss = nn.functional.mse_loss(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
