import torch
from botorch.acquisition import qExpectedImprovement
from botorch.models import SingleTaskGP

torch.manual_seed(0)
x = torch.rand(6, 2, dtype=torch.double)
y = (x - 0.4).pow(2).sum(1, keepdim=True).neg()
model = SingleTaskGP(x, y)
model.eval()
acquisition = qExpectedImprovement(model, best_f=y.max())
candidates = torch.rand(3, 1, 2, dtype=torch.double, requires_grad=True)
opt = torch.optim.Adam([candidates], lr=0.05)
for step in range(3):
    opt.zero_grad()
    loss = -acquisition(candidates).sum()
    loss.backward()
    opt.step()
    candidates.data.clamp_(0, 1)
