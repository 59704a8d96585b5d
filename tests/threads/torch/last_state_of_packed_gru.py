# engine: torch
# ask: gru.weight_ih_l0
# line: loss = fc(h[-1]).pow(2).mean()
# must: select on line \d+ takes other
# never: index_select
# never: soft maximum
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence
torch.manual_seed(0)
gru = nn.GRU(4, 6, bidirectional=True, batch_first=True)
fc = nn.Linear(6, 2)
packed = pack_padded_sequence(torch.randn(3, 5, 4), torch.tensor([3, 5, 2]), batch_first=True, enforce_sorted=False)
_, h = gru(packed)
loss = fc(h[-1]).pow(2).mean()
loss.backward()
