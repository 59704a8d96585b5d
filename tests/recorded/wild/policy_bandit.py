# REINFORCE on a bandit with four arms
import random
import torch
import torch.nn.functional as F

random.seed(1)
torch.manual_seed(1)
arms = [0.2, 0.5, 0.1, 0.8]
logits = torch.zeros(4, requires_grad=True)
optimizer = torch.optim.Adam([logits], lr=0.1)
baseline = 0.0
for episode in range(200):
    probs = F.softmax(logits, dim=-1)
    action = torch.multinomial(probs.detach(), 1).item()
    reward = 1.0 if random.random() < arms[action] else 0.0
    baseline = 0.9 * baseline + 0.1 * reward
    loss = -torch.log(probs[action]) * (reward - baseline)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (episode + 1) % 50 == 0:
        print(episode + 1, [f'{p:.2f}' for p in probs.tolist()], f'baseline {baseline:.3f}')
print(torch.argmax(logits))
