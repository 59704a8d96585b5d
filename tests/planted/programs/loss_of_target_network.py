# engine: torch
# cause: the TD loss is computed with the target network's copy, so the online network gets no gradient
# line: q = target_net(state).gather(1, action)
# line: target_net = copy.deepcopy(online_net)
# must: online_net
# must: target_net|copy|deepcopy|not used|does not depend|takes no part|no operation
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
online_net = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
target_net = copy.deepcopy(online_net)
optimizer = torch.optim.Adam(online_net.parameters(), lr=1e-3)
state, next_state = torch.randn(32, 4), torch.randn(32, 4)
action, reward = torch.randint(0, 2, (32, 1)), torch.randn(32, 1)
for step in range(2):
    with torch.no_grad():
        goal = reward + 0.99 * target_net(next_state).max(1, keepdim=True).values
    q = target_net(state).gather(1, action)
    loss = F.smooth_l1_loss(q, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
