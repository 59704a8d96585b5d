import torch
import torch.nn as nn

torch.manual_seed(8)
rnn = nn.Linear(5, 7)
readout = nn.Linear(7, 1)
seqs = torch.randn(4, 6, 5)
target = seqs.sum(dim=(1, 2)).unsqueeze(1)
params = list(rnn.parameters()) + list(readout.parameters())
for epoch in range(3):
    states = torch.tanh(rnn(seqs)).sum(1)
    loss = nn.functional.smooth_l1_loss(readout(states), target)
    loss.backward()
    total = torch.sqrt(sum((p.grad * p.grad).sum() for p in params))
    coef = torch.clamp(0.5 / (total + 1e-6), max=1.0)
    with torch.no_grad():
        for p in params:
            p -= 0.01 * (p.grad * coef)
            p.grad = None
    print("loss", loss.item())
