import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Linear(4, 3)
opt = torch.optim.SGD(policy.parameters(), lr=0.1)
states, actions, advantage = torch.randn(8, 4), torch.randint(0, 3, (8,)), torch.randn(8)


def log_prob():
    return torch.log_softmax(policy(states), -1).gather(1, actions[:, None]).squeeze(1)


for i in range(6):
    new = log_prob()
    old = log_prob()
    ratio = (new - old).exp()
    loss = -(ratio * advantage).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
