import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
triplet = nn.TripletMarginLoss(margin=0.5)
for step in range(6):
    x = torch.randn(16, 8); other = torch.randn(16, 8)
    anchor = net(x); positive = net(x); negative = net(other)
    loss = triplet(anchor, positive, negative)
    opt.zero_grad(); loss.backward(); opt.step()
