# engine: torch
# cause: the wrong one of the two networks is detached: the optimizer's own network gets no gradient
# line: loss = nn.functional.mse_loss(student(x).detach(), teacher(x))
# must: only through detach
# must: detach
# never: vanishes|diverges
# right: student(x).detach(), teacher(x) ==> student(x), teacher(x).detach()
import torch
from torch import nn

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 4))
student = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 4))
opt = torch.optim.Adam(student.parameters(), lr=1e-3)
for step in range(3):
    x = torch.randn(16, 8)
    loss = nn.functional.mse_loss(student(x).detach(), teacher(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
