# engine: gradtrace
# ask: W
# line: W = torch.randn(4, 3, requires_grad=True) * 0.01
# must: leaf
# must: requires_grad_|retain_grad|Parameter
# never: smaller lr|retain_graph
import torch

torch.manual_seed(0)
W = torch.randn(4, 3, requires_grad=True) * 0.01
b = torch.zeros(3, requires_grad=True)
x = torch.randn(5, 4)
y = torch.tensor([0, 2, 1, 0, 2])

logits = x @ W + b
log_probs = torch.log_softmax(logits, dim=1)
loss = -log_probs[torch.arange(5), y].mean()
loss.backward()
print(b.grad)
print(W.grad)
