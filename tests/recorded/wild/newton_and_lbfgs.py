import torch


def rosenbrock(v):
    x, y = v
    return (1 - x) ** 2 + 100 * (y - x ** 2) ** 2


v = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
opt = torch.optim.LBFGS([v], lr=1, max_iter=20, line_search_fn='strong_wolfe')
calls = 0


def closure():
    global calls
    calls += 1
    opt.zero_grad()
    loss = rosenbrock(v)
    loss.backward()
    return loss


for i in range(3):
    loss = opt.step(closure)
    print(i, f'{loss.item():.6f}', [round(c, 4) for c in v.tolist()])
x = torch.tensor([-1.2, 1.0], dtype=torch.float64)
for i in range(6):
    H = torch.autograd.functional.hessian(rosenbrock, x)
    g = torch.autograd.functional.jacobian(rosenbrock, x)
    x = x - torch.linalg.solve(H, g)
    print(i, f'{rosenbrock(x):.8f}')
print(x, calls > 10)
