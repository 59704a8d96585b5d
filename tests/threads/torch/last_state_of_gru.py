# engine: torch
# ask: gru.weight_ih_l0
# line: loss = fc(h[-1]).pow(2).mean()
# must: select on line \d+ takes other
# never: Stack
# never: soft maximum
import torch
from torch import nn
torch.manual_seed(0)
gru = nn.GRU(4, 6, bidirectional=True, batch_first=True)
fc = nn.Linear(6, 2)
_, h = gru(torch.randn(3, 5, 4))
loss = fc(h[-1]).pow(2).mean()
loss.backward()
