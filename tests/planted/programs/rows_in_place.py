# engine: gradtrace
# line: row /= row.sum()
# must: row
# must: clone|new tensor|instead
# never: smaller lr|retain_graph
import torch

torch.manual_seed(0)
W = torch.randn(3, 4, requires_grad=True)
x = torch.rand(5, 3)
probs = torch.exp(x @ W)
for row in probs:
    row /= row.sum()
target = torch.tensor([0, 1, 2, 3, 0])
loss = -torch.log(probs[torch.arange(5), target]).mean()
loss.backward()
print(W.grad)
