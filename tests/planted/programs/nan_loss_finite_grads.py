# engine: gradtrace
# line: entropy = -(probs * probs.log()).sum(1).mean()
# must: log|entropy
# must: 0|inf
# never: smaller lr|learning rate
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
policy = nn.Linear(2, 3)
with torch.no_grad():
    policy.weight.mul_(200)
states = torch.tensor([[1.0, -1.0], [2.0, 0.5], [-3.0, 1.0]])
actions = torch.tensor([0, 2, 1])
advantages = torch.tensor([0.5, -0.2, 1.0])

logits = policy(states)
log_probs = F.log_softmax(logits, dim=1)
chosen = log_probs[torch.arange(3), actions]
policy_loss = -(chosen * advantages).mean()
with torch.no_grad():
    probs = log_probs.exp()
    entropy = -(probs * probs.log()).sum(1).mean()
loss = policy_loss - 0.01 * entropy
loss.backward()
print("loss", loss.item(), "entropy", entropy.item())
print(policy.weight.grad)
