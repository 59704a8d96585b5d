import copy

import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
actor, critic = nn.Linear(3, 2), nn.Linear(4, 1)
target = copy.deepcopy(critic)
log_alpha = torch.zeros(1, requires_grad=True)
opt_actor = torch.optim.Adam(actor.parameters(), lr=3e-3)
opt_critic = torch.optim.Adam(critic.parameters(), lr=3e-3)
opt_alpha = torch.optim.Adam([log_alpha], lr=3e-3)


def act(state):
    mean, log_std = actor(state).chunk(2, -1)
    dist = Normal(mean, log_std.clamp(-5, 2).exp())
    raw = dist.rsample()
    action = torch.tanh(raw)
    log_prob = dist.log_prob(raw) - torch.log(1 - action.pow(2) + 1e-6)
    return action, log_prob.sum(-1, keepdim=True)


for step in range(4):
    state, action, reward, after = torch.randn(8, 3), torch.rand(8, 1), torch.randn(8, 1), torch.randn(8, 3)
    with torch.no_grad():
        next_action, next_log_prob = act(after)
        goal = reward + 0.99 * (target(torch.cat([after, next_action], 1)) - log_alpha.exp() * next_log_prob)
    critic_loss = nn.functional.mse_loss(critic(torch.cat([state, action], 1)), goal)
    opt_critic.zero_grad()
    critic_loss.backward()
    opt_critic.step()

    new_action, log_prob = act(state)
    actor_loss = (log_alpha.exp().detach() * log_prob - critic(torch.cat([state, new_action], 1))).mean()
    opt_actor.zero_grad()
    actor_loss.backward()
    opt_actor.step()

    alpha_loss = -(log_alpha.exp() * (log_prob.detach() - 1)).mean()
    opt_alpha.zero_grad()
    alpha_loss.backward()
    opt_alpha.step()
    with torch.no_grad():
        for p, q in zip(critic.parameters(), target.parameters()):
            q.lerp_(p, 0.005)
