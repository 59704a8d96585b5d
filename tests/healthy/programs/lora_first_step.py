import torch
from torch import nn
torch.manual_seed(0)
class LoRA(nn.Module):
    def __init__(self, base, r=4):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_A = nn.Parameter(torch.randn(r, base.in_features) * 0.02)
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
    def forward(self, x):
        return self.base(x) + x @ self.lora_A.T @ self.lora_B.T
model = nn.Sequential(LoRA(nn.Linear(4, 8)), nn.ReLU(), LoRA(nn.Linear(8, 1)))
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
x, y = torch.randn(6, 4), torch.randn(6, 1)
loss = ((model(x) - y) ** 2).mean()
loss.backward()
opt.step()
