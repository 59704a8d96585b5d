# engine: gradtrace
# ask: policy.weight
# line: loss = -probs.sum(dim=1).mean()
# line: probs = torch.softmax(policy(states), dim=1)
# must: softmax
# must: sum|cancel|constant
# never: smaller lr|dead
import torch
import torch.nn as nn

torch.manual_seed(0)
policy = nn.Linear(3, 4)
states = torch.randn(6, 3)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.5)
before = policy.weight.detach().clone()
for step in range(4):
    probs = torch.softmax(policy(states), dim=1)
    loss = -probs.sum(dim=1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
print((policy.weight - before).abs().max())
