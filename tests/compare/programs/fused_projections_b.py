import torch
from torch import nn

torch.manual_seed(0)
D, H = 16, 4
parts = [nn.Linear(D, D) for _ in range(3)]
proj = nn.Linear(D, D)
classifier = nn.Linear(D, 3)
qkv = nn.Linear(D, 3 * D, bias=True)
qkv_state = torch.get_rng_state()
with torch.no_grad():
    for i, p in enumerate(parts):
        qkv.weight[i * D:(i + 1) * D].copy_(p.weight)
        qkv.bias[i * D:(i + 1) * D].copy_(p.bias)

# the data of the original: drawn after the four first layers and the head
torch.manual_seed(0)
for _ in range(4):
    nn.Linear(D, D)
nn.Linear(D, 3)
data = torch.randn(6, 5, D)
target = torch.randint(0, 3, (6,))

def attend(inp):
    B, N, C = inp.shape
    q, k, v = qkv(inp).reshape(B, N, 3, H, C // H).permute(2, 0, 3, 1, 4)
    w = torch.softmax(torch.matmul(q * (C // H) ** -0.5, k.mT), dim=-1)
    return proj(torch.matmul(w, v).permute(0, 2, 1, 3).flatten(2))

params = list(qkv.parameters()) + list(proj.parameters()) + list(classifier.parameters())
optim = torch.optim.Adam(params, lr=0.01)
criterion = nn.CrossEntropyLoss()
for _ in range(5):
    optim.zero_grad()
    l = criterion(classifier(attend(data).mean(dim=1)), target)
    l.backward()
    optim.step()
    print(f"{l.item():.6f}")
