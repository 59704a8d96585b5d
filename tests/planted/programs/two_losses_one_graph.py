# engine: gradtrace
# line: loss_a.backward()
# must: retain_graph|sum|\(loss_a \+ loss_b\)
# must: loss_a
# never: smaller lr|detach
import torch
import torch.nn as nn

torch.manual_seed(0)
encoder = nn.Linear(4, 4)
head_a = nn.Linear(4, 1)
head_b = nn.Linear(4, 2)
params = [*encoder.parameters(), *head_a.parameters(), *head_b.parameters()]
opt = torch.optim.SGD(params, lr=0.1)
x = torch.randn(6, 4)
ya, yb = torch.randn(6, 1), torch.tensor([0, 1, 0, 1, 1, 0])

z = torch.tanh(encoder(x))
loss_a = nn.functional.mse_loss(head_a(z), ya)
loss_b = nn.functional.cross_entropy(head_b(z), yb)
opt.zero_grad()
loss_a.backward()
loss_b.backward()
opt.step()
