# engine: gradtrace
# ask: head.weight
# line: torch.nn.utils.clip_grad_norm_(params, max_norm=1.0)
# line: scale = torch.sqrt(gate).sum()
# must: clip_grad_norm_|sqrt
# must: inf
# never: smaller lr|zero_grad
import torch
import torch.nn as nn

torch.manual_seed(0)
head = nn.Linear(3, 1)
gate = nn.Parameter(torch.tensor([0.0, 1.0, 4.0]))
params = [*head.parameters(), gate]
optimizer = torch.optim.SGD(params, lr=0.1)
x = torch.randn(8, 3)
y = x.sum(1, keepdim=True)

scale = torch.sqrt(gate).sum()
out = head(x) * scale
loss = ((out - y) ** 2).mean()
optimizer.zero_grad()
loss.backward()
torch.nn.utils.clip_grad_norm_(params, max_norm=1.0)
optimizer.step()
print(loss.item())
print(head.weight.grad)
