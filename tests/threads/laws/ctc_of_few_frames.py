import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(5, 4); opt = torch.optim.SGD(net.parameters(), lr=1e-2)
x, labels = torch.randn(12, 3, 5), torch.randint(1, 4, (3, 6))
frames, lengths = torch.full((3,), 12 // 4), torch.full((3,), 6)
for step in range(4):
    scores = net(x).log_softmax(-1)
    loss = F.ctc_loss(scores, labels, frames, lengths, zero_infinity=True)
    opt.zero_grad(); loss.backward(); opt.step()
