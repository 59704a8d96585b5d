# engine: gradtrace
# ask: W
# line: exps = torch.exp(z)
# must: exp
# must: inf|overflow
# must: softmax|max
# never: retain_grad
import torch

torch.manual_seed(0)


def softmax(z):
    exps = torch.exp(z)
    return exps / exps.sum(dim=1, keepdim=True)


X = torch.tensor([[120.0, 3.0], [1.0, 2.0], [0.5, -2.0]])
Y = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
W = torch.tensor([[1.0, 0.5], [0.2, -0.3]], requires_grad=True)
b = torch.zeros(2, requires_grad=True)

for i in range(3):
    probs = softmax(X @ W + b)
    loss = ((probs - Y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        W -= 0.1 * W.grad
        b -= 0.1 * b.grad
    W.grad.zero_()
    b.grad.zero_()
    print(i, loss.item())
