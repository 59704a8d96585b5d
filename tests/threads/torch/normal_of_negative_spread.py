# engine: torch
# line: dist = Normal(mu, sigma + 1.2 - 0.1 * step)
# must: normal gets sigma
# never: has the shape
# never: action, 
import torch
from torch import nn
from torch.distributions import Normal

Normal.set_default_validate_args(False)
torch.manual_seed(0)
head = nn.Linear(3, 2)
opt = torch.optim.SGD(head.parameters(), lr=0.1)
for step in range(50):
    mu, sigma = head(torch.randn(8, 3)).chunk(2, dim=1)
    dist = Normal(mu, sigma + 1.2 - 0.1 * step)
    action = dist.sample()
    loss = -(dist.log_prob(action)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
