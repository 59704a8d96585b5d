# engine: gradtrace
# ask: kappa
# line: g, = torch.autograd.grad(inner, w)
# must: create_graph
# must: True
# never: smaller lr|retain_grad
import torch

torch.manual_seed(0)
w = torch.tensor([0.5, -0.3], requires_grad=True)
alpha = torch.tensor(0.1, requires_grad=True)
kappa = torch.tensor(1.0, requires_grad=True)
xs, ys = torch.randn(5, 2), torch.randn(5)
xq, yq = torch.randn(5, 2), torch.randn(5)


def model(x, weights):
    return x @ weights


inner = kappa * ((model(xs, w) - ys) ** 2).mean()
g, = torch.autograd.grad(inner, w)
adapted = w - 0.1 * g
outer = ((model(xq, adapted) - yq) ** 2).mean()
outer = outer + 0.0 * alpha
outer.backward()
print(w.grad)
print("kappa", kappa.grad)
