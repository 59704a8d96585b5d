"""Actor and critic on a corridor, with a Categorical policy, returns normalised and options from argparse."""

import argparse
from collections import deque, namedtuple
from itertools import count

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

parser = argparse.ArgumentParser(description="actor-critic on a corridor")
parser.add_argument("--gamma", type=float, default=0.97, metavar="G", help="discount factor (default: 0.97)")
parser.add_argument("--seed", type=int, default=543, metavar="N")
parser.add_argument("--render", action="store_true", help="print the walk")
parser.add_argument("--log-interval", type=int, default=5, metavar="N")
args = parser.parse_args()
torch.manual_seed(args.seed)

SavedAction = namedtuple("SavedAction", ["log_prob", "value", "entropy"])
eps = np.finfo(np.float32).eps.item()


class Corridor:
    """Walk from the middle of a corridor; the right end pays 1."""

    length = 7

    def reset(self):
        self.place = self.length // 2
        return self.observation()

    def observation(self):
        state = np.zeros(self.length, dtype=np.float32)
        state[self.place] = 1
        return state

    def step(self, action):
        self.place += 1 if action == 1 else -1
        done = self.place in (0, self.length - 1)
        reward = 1.0 if self.place == self.length - 1 else -0.02
        return self.observation(), reward, done, {}


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.affine = nn.Linear(Corridor.length, 32)
        self.action_head = nn.Linear(32, 2)
        self.value_head = nn.Linear(32, 1)
        self.saved_actions = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


model = Policy()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)


def select_action(state):
    probs, value = model(torch.from_numpy(state).float())
    m = Categorical(probs)
    action = m.sample()
    model.saved_actions.append(SavedAction(m.log_prob(action), value, m.entropy()))
    return action.item()


def finish_episode():
    R, returns = 0, deque()
    for r in model.rewards[::-1]:
        R = r + args.gamma * R
        returns.appendleft(R)
    returns = torch.tensor(returns)
    if len(returns) > 1:
        returns = (returns - returns.mean()) / (returns.std() + eps)
    policy_losses, value_losses = [], []
    for (log_prob, value, entropy), R in zip(model.saved_actions, returns):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage - 0.01 * entropy)
        value_losses.append(F.smooth_l1_loss(value, torch.tensor([R])))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
    del model.rewards[:]
    del model.saved_actions[:]
    return loss.item()


env = Corridor()
running_reward = 0.0
for i_episode in count(1):
    state, ep_reward = env.reset(), 0
    for t in range(1, 200):
        action = select_action(state)
        state, reward, done, _ = env.step(action)
        if args.render:
            print(env.place, end=" ")
        model.rewards.append(reward)
        ep_reward += reward
        if done:
            break
    running_reward = 0.05 * ep_reward + (1 - 0.05) * running_reward
    loss = finish_episode()
    if i_episode % args.log_interval == 0:
        print("Episode {}\tLength: {}\tLast reward: {:.2f}\tAverage reward: {:.2f}\tLoss: {:.3f}".format(
            i_episode, t, ep_reward, running_reward, loss))
    if i_episode >= 25:
        break
probs, value = model(torch.eye(Corridor.length))
print(probs.detach().numpy().round(3)[:, 1], value.shape)
