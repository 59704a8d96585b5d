# engine: gradtrace
# ask: q_net.weight
# line: q = target_net(states).gather(1, actions)
# must: target_net
# must: not (part|used|depend|on)|nothing|instead
# never: smaller lr|zero_grad
import torch
import torch.nn as nn

torch.manual_seed(0)
q_net = nn.Linear(4, 2)
target_net = nn.Linear(4, 2)
target_net.load_state_dict(q_net.state_dict())
optimizer = torch.optim.Adam(q_net.parameters(), lr=1e-3)
gamma = 0.9

states = torch.randn(8, 4)
next_states = torch.randn(8, 4)
actions = torch.randint(0, 2, (8, 1))
rewards = torch.randn(8, 1)

for step in range(3):
    q = target_net(states).gather(1, actions)
    with torch.no_grad():
        best = target_net(next_states).max(1, keepdim=True).values
    target = rewards + gamma * best
    loss = nn.functional.smooth_l1_loss(q, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
