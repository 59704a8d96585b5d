# engine: gradtrace
# line: loss.backward()
# must: zero_grad
# must: accumulat|add up|added up
# never: smaller lr|retain_graph
import torch
import torch.nn as nn

torch.manual_seed(0)
X = torch.randn(32, 2)
Y = (X[:, :1] * 2 - X[:, 1:] + 0.3)
net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.02)
mse = nn.MSELoss()


def train_step(x, y):
    out = net(x)
    loss = mse(out, y)
    loss.backward()
    opt.step()
    return loss.item()


history = []
for epoch in range(12):
    history.append(train_step(X, Y))
print(history[0], history[-1])
