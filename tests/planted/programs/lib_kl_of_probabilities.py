# engine: torch
# cause: kl_div takes log-probabilities, and gets probabilities
# line: loss = F.kl_div(student(x).softmax(-1), goal, reduction="batchmean")
# must: kl_div
# must: log
# must: probabilit
# never: diverges|vanishes
# right: student(x).softmax(-1) ==> student(x).log_softmax(-1)
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 5)).requires_grad_(False)
student = nn.Sequential(nn.Linear(8, 12), nn.ReLU(), nn.Linear(12, 5))
opt = torch.optim.Adam(student.parameters(), lr=1e-2)
for step in range(4):
    x = torch.randn(16, 8)
    goal = teacher(x).softmax(-1)
    loss = F.kl_div(student(x).softmax(-1), goal, reduction="batchmean")
    opt.zero_grad()
    loss.backward()
    opt.step()
