"""Proximal policy optimisation with a normal policy on a pendulum that the program defines."""

import collections
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Normal, kl_divergence

Transition = collections.namedtuple("Transition", "state action reward next_state log_prob done")


class Pendulum:
    def reset(self):
        self.theta, self.speed, self.time = random.uniform(-1, 1), random.uniform(-0.5, 0.5), 0
        return self.observe()

    def observe(self):
        return np.array([np.cos(self.theta), np.sin(self.theta), self.speed], dtype=np.float32)

    def step(self, action):
        torque = max(-2.0, min(2.0, action))
        self.speed += (1.5 * float(np.sin(self.theta)) + 0.3 * torque) * 0.1
        self.theta += self.speed * 0.1
        self.time += 1
        return self.observe(), -(self.theta**2 + 0.1 * self.speed**2), self.time == 30


class Agent(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, hidden), nn.Tanh())
        self.mean = nn.Linear(hidden, 1)
        self.log_std = nn.Parameter(torch.full((1,), -0.5))
        self.value = nn.Linear(hidden, 1)

    def policy(self, x):
        return Normal(2.0 * torch.tanh(self.mean(self.body(x))), self.log_std.exp())

    def forward(self, x):
        return self.policy(x), self.value(self.body(x)).squeeze(-1)


def collect(agent, environment, episodes=2):
    memory = []
    for _ in range(episodes):
        state, done = environment.reset(), False
        while not done:
            with torch.no_grad():
                policy = agent.policy(torch.from_numpy(state))
                action = policy.sample()
                log_prob = policy.log_prob(action).item()
            next_state, reward, done = environment.step(action.item())
            memory.append(Transition(state, action.item(), reward, next_state, log_prob, done))
            state = next_state
    return memory


def advantages(agent, batch, gamma=0.95, lam=0.9):
    states = torch.tensor(np.stack(batch.state))
    next_states = torch.tensor(np.stack(batch.next_state))
    mask = torch.tensor([0.0 if done else 1.0 for done in batch.done])
    with torch.no_grad():
        target = torch.tensor(batch.reward) + gamma * agent(next_states)[1] * mask
        delta = (target - agent(states)[1]).numpy()
    total, found = 0.0, []
    for one, alive in zip(delta[::-1], mask.tolist()[::-1]):
        total = one + gamma * lam * total * alive
        found.append(float(total))
    return states, target, torch.tensor(found[::-1])


random.seed(1)
torch.manual_seed(1)
agent = Agent()
optimizer = optim.Adam(agent.parameters(), lr=3e-3)
for iteration in range(3):
    batch = Transition(*zip(*collect(agent, Pendulum())))
    states, target, advantage = advantages(agent, batch)
    action = torch.tensor(batch.action).unsqueeze(-1)
    old_log_prob = torch.tensor(batch.log_prob).unsqueeze(-1)
    with torch.no_grad():
        before = agent.policy(states)
    for _ in range(4):
        policy, value = agent(states)
        ratio = torch.exp(policy.log_prob(action) - old_log_prob).squeeze(-1)
        clipped = torch.clamp(ratio, 0.8, 1.2)
        loss = -torch.min(ratio * advantage, clipped * advantage).mean() + 0.5 * F.smooth_l1_loss(value, target)
        loss = loss - 0.01 * policy.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(agent.parameters(), 1.0)
        optimizer.step()
    divergence = kl_divergence(before, agent.policy(states)).mean()
    print(f"iteration {iteration}: reward {sum(batch.reward):.2f} loss {loss.item():.3f} norm {norm:.3f} kl {divergence.item():.4f}")
print(agent.policy(states[:2]))
