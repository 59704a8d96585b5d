# engine: torch
# line: opt.step()
# must: step 1
# must: eps=1e-08 is 0 in float16
# never: is given here
import torch

torch.manual_seed(0)
w = torch.nn.Parameter(torch.randn(4, 3).half())
x = torch.randn(16, 4).half()
opt = torch.optim.Adam([w], lr=0.01)
for step in range(3):
    loss = 0.001 * (x @ w).tanh().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item(), w.abs().max().item())
