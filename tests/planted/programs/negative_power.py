# engine: gradtrace
# line: growth = (1 + returns) ** 0.5
# must: pow|\*\* 0.5|power|sqrt
# must: negative|-
# never: smaller lr|learning rate
import torch
import torch.nn as nn

torch.manual_seed(0)
prices = torch.tensor([100.0, 102.0, 97.0, 103.0, 99.0, 12.0, 14.0])
shocks = torch.tensor([0.0, 0.0, 0.0, 0.0, -0.4, 0.0])
returns = prices[1:] / prices[:-1] - 1 + shocks

alpha = nn.Parameter(torch.tensor(0.5))
beta = nn.Parameter(torch.tensor(0.1))
opt = torch.optim.Adam([alpha, beta], lr=0.01)

for step in range(3):
    growth = (1 + returns) ** 0.5
    model = alpha * growth + beta
    loss = (model - growth.mean()).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
