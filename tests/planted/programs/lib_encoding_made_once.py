# engine: torch
# cause: the encoding is made once outside of the loop, and the second step's backward goes through it again
# line: code = encoder(x)
# must: once|second|freed|again
# never: optimizer|diverges
# right: code = encoder(x)\nfor step in range(3): ==> for step in range(3):\n    code = encoder(x)
import torch
from torch import nn

torch.manual_seed(0)
encoder, decoder = nn.Sequential(nn.Linear(6, 3), nn.Tanh()), nn.Linear(3, 6)
both = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
x = torch.randn(10, 6)
code = encoder(x)
for step in range(3):
    loss = (decoder(code) - x).pow(2).mean()
    both.zero_grad()
    loss.backward()
    both.step()
