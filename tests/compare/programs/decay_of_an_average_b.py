import torch
from torch import nn

class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(6, 12)
        self.g = nn.Linear(12, 4)

    def forward(self, x):
        return self.g(torch.relu(self.f(x)))

class MeanTeacher:
    def __init__(self, model, decay):
        self.decay = decay
        self.model = Head()
        self.model.load_state_dict(model.state_dict())
        self.model.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for avg, new in zip(self.model.parameters(), model.parameters()):
            avg.lerp_(new, 1 - self.decay)

torch.manual_seed(8)
net = Head()
state = torch.get_rng_state()
ema = MeanTeacher(net, decay=0.9)
torch.set_rng_state(state)
optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
batch = torch.randn(16, 6)
for _ in range(5):
    augmented = batch + torch.randn_like(batch) * 0.2
    loss = (net(augmented) - ema.model(batch)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.update(net)
    print(f"{loss.item():.6f}")
