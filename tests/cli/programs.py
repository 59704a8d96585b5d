"""Programs that several tests of the command line run."""

VIEW = """import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
v = w[0]
loss = v * 3
loss.backward()
with torch.no_grad():
    w *= 100
"""
MLP = """import torch
from torch import nn
torch.manual_seed(0)
X = torch.randn(32, 64)
y = torch.randint(0, 10, (32,))
m = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
opt = torch.optim.SGD(m.parameters(), lr=0.1)
loss_fn = nn.CrossEntropyLoss()
for step in range(1000):
    opt.zero_grad()
    loss = loss_fn(m(X), y)
    loss.backward()
    opt.step()
"""
FAILS = """import torch
torch.manual_seed(0)
x = torch.randn(4, 3)
w = torch.randn(4, 5, requires_grad=True)
b = torch.zeros(5, requires_grad=True)
h = torch.relu(x) * 2
y = h @ w + b
loss = y.sum()
"""
IN_BACKWARD = """import torch
w = torch.tensor([1., 2.], requires_grad=True)
a = w * 2
b = a.exp()
b += 1
loss = b.sum()
loss.backward()
"""
IN_A_LOOP = """import torch
w = torch.tensor([1., 2.], requires_grad=True)
for i in range(5):
    loss = (w * w).sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
    if i == 3:
        z = w @ torch.ones(3)
"""
FAILING = {"FAILS": FAILS, "IN_BACKWARD": IN_BACKWARD, "IN_A_LOOP": IN_A_LOOP}
