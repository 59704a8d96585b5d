import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
img, txt = nn.Linear(16, 8), nn.Linear(12, 8); opt = torch.optim.Adam([*img.parameters(), *txt.parameters()], lr=1e-3)
for step in range(5):
    a = F.normalize(img(torch.randn(16, 16)), dim=-1); b = F.normalize(txt(torch.randn(16, 12)), dim=-1)
    logits = a @ b.t() / 0.07
    labels = torch.zeros(16, dtype=torch.long)
    loss = (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2
    opt.zero_grad(); loss.backward(); opt.step()
