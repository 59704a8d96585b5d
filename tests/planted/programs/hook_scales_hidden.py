# engine: gradtrace
# engine: torch
# ask: w
# cause: a hook that was registered on the hidden state to look at it returns ten times its gradient
# line: h.register_hook(lambda g: g * 10)
# must: hook
# must: turned the gradient of h
# never: smaller lr|retain_grad|requires_grad_
import torch

w = torch.tensor([0.5, -1.0], requires_grad=True)
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
h = torch.tanh(x @ w)
h.register_hook(lambda g: g * 10)
loss = h.pow(2).mean()
loss.backward()
print(w.grad)
