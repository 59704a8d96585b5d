"""Q-learning on a corridor, with a replay memory."""
import math
import random
from collections import deque, namedtuple
from itertools import count

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

random.seed(0)
torch.manual_seed(0)
Transition = namedtuple('Transition', ('state', 'action', 'next_state', 'reward'))


class ReplayMemory(object):

    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        """Save a transition"""
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class Corridor:
    length = 6

    def reset(self):
        self.pos = 0
        return self._observe()

    def _observe(self):
        return F.one_hot(torch.tensor([self.pos]), self.length).float()

    def step(self, action):
        self.pos = max(0, self.pos + (1 if action == 1 else -1))
        done = self.pos == self.length - 1
        return self._observe(), (1.0 if done else -0.01), done


BATCH_SIZE, GAMMA, EPS_START, EPS_END, EPS_DECAY = 16, 0.9, 0.9, 0.05, 100
policy_net = nn.Linear(6, 2)
target_net = nn.Linear(6, 2)
target_net.load_state_dict(policy_net.state_dict())
optimizer = optim.RMSprop(policy_net.parameters(), lr=0.01)
memory = ReplayMemory(200)
env = Corridor()
steps_done = 0


def select_action(state):
    global steps_done
    sample = random.random()
    eps_threshold = EPS_END + (EPS_START - EPS_END) * math.exp(-1. * steps_done / EPS_DECAY)
    steps_done += 1
    if sample > eps_threshold:
        with torch.no_grad():
            return policy_net(state).max(1)[1].view(1, 1)
    return torch.tensor([[random.randrange(2)]], dtype=torch.long)


def optimize_model():
    if len(memory) < BATCH_SIZE:
        return
    transitions = memory.sample(BATCH_SIZE)
    batch = Transition(*zip(*transitions))
    non_final_mask = torch.tensor(tuple(map(lambda s: s is not None, batch.next_state)), dtype=torch.bool)
    state_batch = torch.cat(batch.state)
    action_batch = torch.cat(batch.action)
    reward_batch = torch.cat(batch.reward)
    state_action_values = policy_net(state_batch).gather(1, action_batch)
    next_state_values = torch.zeros(BATCH_SIZE)
    found = [s for s in batch.next_state if s is not None]
    with torch.no_grad():
        if found:
            next_state_values[non_final_mask] = target_net(torch.cat(found)).max(1)[0]
    expected = (next_state_values * GAMMA) + reward_batch
    loss = nn.SmoothL1Loss()(state_action_values, expected.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    for param in policy_net.parameters():
        param.grad.data.clamp_(-1, 1)
    optimizer.step()


episode_durations = []
for i_episode in range(8):
    state = env.reset()
    for t in count():
        action = select_action(state)
        next_state, reward, done = env.step(action.item())
        memory.push(state, action, None if done else next_state, torch.tensor([reward]))
        state = next_state
        optimize_model()
        if done or t > 60:
            episode_durations.append(t + 1)
            break
    if i_episode % 2 == 0:
        target_net.load_state_dict(policy_net.state_dict())
print(episode_durations, len(memory))
print(policy_net.weight.data.round(decimals=3))
