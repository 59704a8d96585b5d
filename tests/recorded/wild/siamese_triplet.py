import torch
import torch.nn as nn
import torch.nn.functional as F


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 16), nn.PReLU(), nn.Linear(16, 2))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = margin

    def forward(self, a, b, same):
        d = F.pairwise_distance(a, b)
        return (same * d.pow(2) + (1 - same) * torch.clamp(self.margin - d, min=0.0).pow(2)).mean()


torch.manual_seed(0)
prototypes = torch.randn(3, 6)
net, contrast, triplet = Embedder(), ContrastiveLoss(), nn.TripletMarginLoss(margin=0.5)
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(40):
    labels = torch.randint(0, 3, (3, 16))
    xs = prototypes[labels] + 0.2 * torch.randn(3, 16, 6)
    a, b, c = net(xs[0]), net(xs[1]), net(xs[2])
    loss = contrast(a, b, (labels[0] == labels[1]).float()) + triplet(a, net(xs[0] + 0.01), c)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(f'{step:3d} {loss.item():.4f}')
with torch.no_grad():
    e = net(prototypes)
print((e @ e.T).diag(), F.cosine_similarity(e[0], e[1], dim=0).abs() <= 1)
