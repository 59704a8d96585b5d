import math
import torch
import matplotlib.pyplot as plt

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
X = torch.linspace(0, 1, 12).unsqueeze(-1)
y = torch.sin(X.squeeze() * 2 * math.pi) + 0.1 * torch.randn(12)


def rbf(a, b, lengthscale, variance):
    return variance * torch.exp(-0.5 * torch.cdist(a, b) ** 2 / lengthscale ** 2)


raw = torch.zeros(3, requires_grad=True)
opt = torch.optim.Adam([raw], lr=0.1)
for i in range(31):
    lengthscale, variance, noise = torch.nn.functional.softplus(raw)
    K = rbf(X, X, lengthscale, variance) + (noise ** 2 + 1e-6) * torch.eye(12)
    L = torch.linalg.cholesky(K)
    alpha = torch.cholesky_solve(y.unsqueeze(1), L)
    nll = 0.5 * (y @ alpha.squeeze()) + L.diagonal().log().sum() + 6 * math.log(2 * math.pi)
    opt.zero_grad()
    nll.backward()
    opt.step()
    if i % 10 == 0:
        print(f'Iter {i:2d} - Loss: {nll.item():.4f} lengthscale: {lengthscale.item():.4f}')
with torch.no_grad():
    xs = torch.tensor([[0.25], [0.75]])
    mean = rbf(xs, X, lengthscale, variance) @ alpha
    var = variance - (torch.linalg.solve_triangular(L, rbf(X, xs, lengthscale, variance), upper=False) ** 2).sum(0)
print(mean.flatten(), var.shape)
plt.errorbar(xs.flatten(), mean.flatten(), yerr=2 * var.abs().sqrt())
plt.show()
