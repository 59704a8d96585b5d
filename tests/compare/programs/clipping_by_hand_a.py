import torch
import torch.nn as nn

torch.manual_seed(8)
rnn = nn.Linear(5, 7)
readout = nn.Linear(7, 1)
seqs = torch.randn(4, 6, 5)
target = seqs.sum(dim=(1, 2)).unsqueeze(1)
params = list(rnn.parameters()) + list(readout.parameters())
opt = torch.optim.SGD(params, lr=0.01)
for epoch in range(3):
    opt.zero_grad()
    states = torch.tanh(rnn(seqs)).sum(1)
    loss = nn.functional.smooth_l1_loss(readout(states), target)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(params, 0.5)
    opt.step()
    print("loss", loss.item())
