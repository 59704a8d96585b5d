# engine: gradtrace
# ask: proj.weight
# line: bias = (1 - mask) * float("-inf")
# must: 0
# must: inf
# must: masked_fill|where
# never: smaller lr
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
proj = nn.Linear(4, 5)
x = torch.randn(3, 4)
mask = torch.tensor([[1.0, 1.0, 0.0, 1.0, 1.0],
                     [1.0, 1.0, 1.0, 1.0, 0.0],
                     [1.0, 0.0, 1.0, 1.0, 1.0]])
target = torch.tensor([0, 1, 2])

logits = proj(x)
bias = (1 - mask) * float("-inf")
masked = logits + bias
log_probs = F.log_softmax(masked, dim=-1)
loss = F.nll_loss(log_probs, target)
loss.backward()
print(loss.item())
print(proj.weight.grad)
