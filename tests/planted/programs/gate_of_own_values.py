# engine: gradtrace
# engine: torch
# cause: a self-gating layer multiplies its input by the input without history, which halves the gradient
# line: h = h.detach() * h
# must: own values
# must: detach
# never: smaller lr|retain_grad|requires_grad_
# right: h = h.detach() * h ==> h = h * h
import torch
import torch.nn as nn

torch.manual_seed(0)
net, head = nn.Linear(4, 6), nn.Linear(6, 1)
opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.05)
x, y = torch.randn(16, 4), torch.randn(16, 1)
h = net(x)
h = h.detach() * h
loss = (head(h) - y).pow(2).mean()
opt.zero_grad()
loss.backward()
opt.step()
print(loss.item())
