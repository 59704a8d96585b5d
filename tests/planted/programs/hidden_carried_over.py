# engine: gradtrace
# line: out, h = rnn_step(x, h)
# line: h = torch.tanh(x @ Wx + h @ Wh)
# must: h
# must: detach
# never: smaller lr
import torch

torch.manual_seed(0)
Wx = (torch.randn(3, 4) * 0.3).requires_grad_()
Wh = (torch.randn(4, 4) * 0.3).requires_grad_()
Wo = (torch.randn(4, 1) * 0.3).requires_grad_()
optimizer = torch.optim.SGD([Wx, Wh, Wo], lr=0.05)


def rnn_step(x, h):
    h = torch.tanh(x @ Wx + h @ Wh)
    return h @ Wo, h


h = torch.zeros(2, 4)
for t in range(6):
    x = torch.randn(2, 3)
    target = x.sum(1, keepdim=True)
    out, h = rnn_step(x, h)
    loss = ((out - target) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(t, loss.item())
