import torch
import torch.nn as nn
import matplotlib.pyplot as plt


def odeint(func, y0, t, method='euler'):
    ys = [y0]
    for t0, t1 in zip(t[:-1], t[1:]):
        y, h = ys[-1], t1 - t0
        match method:
            case 'euler':
                dy = func(t0, y)
            case 'midpoint':
                dy = func(t0 + h / 2, y + h / 2 * func(t0, y))
            case 'rk4':
                k1 = func(t0, y)
                k2 = func(t0 + h / 2, y + h / 2 * k1)
                k3 = func(t0 + h / 2, y + h / 2 * k2)
                k4 = func(t1, y + h * k3)
                dy = (k1 + 2 * k2 + 2 * k3 + k4) / 6
            case _:
                raise ValueError(method)
        ys.append(y + h * dy)
    return torch.stack(ys)


true_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
t = torch.linspace(0., 2., 9)
y0 = torch.tensor([[2., 0.]])
with torch.no_grad():
    true_y = odeint(lambda t, y: y @ true_A, y0, t, 'rk4')
for method in ('euler', 'midpoint', 'rk4'):
    err = (odeint(lambda t, y: y @ true_A, y0, t, method) - true_y).abs().max()
    print(f'{method:9s} {err:.4f}')


class ODEFunc(nn.Module):
    def __init__(self):
        super(ODEFunc, self).__init__()
        self.net = nn.Sequential(nn.Linear(2, 10), nn.Tanh(), nn.Linear(10, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)

    def forward(self, t, y):
        return self.net(y)


torch.manual_seed(0)
func = ODEFunc()
optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-2)
for itr in range(1, 31):
    optimizer.zero_grad()
    loss = torch.mean(torch.abs(odeint(func, y0, t) - true_y))
    loss.backward()
    optimizer.step()
    if itr % 10 == 0:
        print('Iter {:04d} | Total Loss {:.4f}'.format(itr, loss.item()))
plt.plot(t, true_y[:, 0, 0], t, true_y[:, 0, 1])
plt.show()
