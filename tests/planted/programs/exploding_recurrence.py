# engine: gradtrace
# ask: W
# line: h = h @ W + x_t
# must: explod|grow|grew
# must: step|each|factor|times
# must: clip|init|spectral|orthogonal|smaller
# never: zero_grad|retain_graph
import torch

torch.manual_seed(0)
W = (torch.eye(6) * 1.9 + 0.01 * torch.randn(6, 6)).requires_grad_()
readout = torch.randn(6, 1, requires_grad=True)
sequence = torch.randn(50, 2, 6)


def run(sequence):
    h = torch.zeros(2, 6)
    for x_t in sequence:
        h = h @ W + x_t
    return h @ readout


prediction = run(sequence)
loss = prediction.abs().mean()
loss.backward()
print(loss.item())
print(W.grad.norm())
