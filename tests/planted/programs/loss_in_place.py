# engine: torch
# cause: `loss += 1` changes the result of exp that exp keeps for its derivative
# line: loss += 1
# must: in.?place|add_
# must: exp
# must: saved|saves|needed|keeps
# from: https://github.com/pytorch/pytorch/issues/96265
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs, counts = torch.randn(32, 8), torch.randint(0, 5, (32, 1)).float()

for epoch in range(3):
    optimizer.zero_grad()
    log_rate = model(inputs).mean()
    loss = torch.exp(log_rate)
    # the constant of the likelihood
    loss += 1
    loss.backward()
    optimizer.step()
