import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
teacher, net = nn.Linear(6, 3), nn.Linear(6, 3); opt = torch.optim.SGD(net.parameters(), lr=1e-2)
x = torch.randn(10, 6)
for step in range(4):
    with torch.no_grad():
        soft = F.log_softmax(teacher(x), dim=1)
    loss = F.kl_div(F.log_softmax(net(x), dim=1), soft, log_target=True, reduction="batchmean")
    opt.zero_grad(); loss.backward(); opt.step()
