import torch
from torch.nn import functional as F

torch.manual_seed(1)
c1, c2, lin = torch.nn.Conv2d(3, 8, 3), torch.nn.Conv2d(8, 12, 3, bias=False), torch.nn.Linear(12, 5)
P = {
    "k1": c1.weight.detach().flatten(1).clone().requires_grad_(),
    "b1": c1.bias.detach().clone().requires_grad_(),
    "k2": c2.weight.detach().flatten(1).clone().requires_grad_(),
    "w": lin.weight.detach().clone().requires_grad_(),
    "b": lin.bias.detach().clone().requires_grad_(),
}
X = torch.randn(8, 3, 12, 12)
Y = torch.randint(0, 5, (8,))

def conv(x, kernel, bias=None, stride=1):
    n, _, h, w = x.shape
    cols = F.unfold(x, 3, padding=1, stride=stride)
    out = kernel @ cols
    if bias is not None:
        out = out + bias[:, None]
    return out.view(n, kernel.shape[0], h // stride, w // stride)

def forward(x):
    h = conv(x, P["k1"], P["b1"], stride=2).clamp(min=0)
    h = conv(h, P["k2"]).clamp(min=0)
    pooled = F.adaptive_avg_pool2d(h, 1).squeeze(-1).squeeze(-1)
    return pooled @ P["w"].T + P["b"]

opt = torch.optim.SGD(P.values(), lr=0.1, momentum=0.9)
for _ in range(5):
    loss = F.cross_entropy(forward(X), Y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("%.6f" % loss.item())
