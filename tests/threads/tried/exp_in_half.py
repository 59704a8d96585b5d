# exp() of a score in float16, which ends at exp(11).
import torch

score = torch.tensor([1.0, 12.0], requires_grad=True)
opt = torch.optim.SGD([score], lr=0.1)
for _ in range(6):
    odds = torch.exp(score.half())
    loss = (odds / odds.sum())[1].float()
    opt.zero_grad()
    loss.backward()
    opt.step()
