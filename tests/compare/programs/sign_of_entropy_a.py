import torch
import torch.nn as nn

torch.manual_seed(33)
body = nn.Sequential(nn.Linear(4, 16), nn.Tanh())
pi, vf = nn.Linear(16, 3), nn.Linear(16, 1)
params = [*body.parameters(), *pi.parameters(), *vf.parameters()]
opt = torch.optim.Adam(params, lr=3e-3, eps=1e-5)
s, a = torch.randn(32, 4), torch.randint(0, 3, (32,))
ret, old = torch.randn(32), torch.full((32,), -1.1)
for step in range(4):
    h = body(s)
    dist = torch.distributions.Categorical(logits=pi(h))
    v = vf(h).squeeze(-1)
    adv = ret - v.detach()
    ratio = (dist.log_prob(a) - old).exp()
    policy_loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
    value_loss = (ret - v).pow(2).mean()
    loss = policy_loss + 0.5 * value_loss - 0.01 * dist.entropy().mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(params, 0.5)
    opt.step()
    print(f"{loss.item():.6f}")
