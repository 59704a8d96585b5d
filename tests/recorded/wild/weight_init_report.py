import torch
import torch.nn as nn
import torch.nn.init as init


def init_weights(m):
    if type(m) == nn.Linear:
        init.xavier_uniform_(m.weight)
        m.bias.data.fill_(0.01)
    elif isinstance(m, nn.Conv2d):
        init.kaiming_normal_(m.weight, mode='fan_out', nonlinearity='relu')
        init.constant_(m.bias, 0)
    elif isinstance(m, nn.BatchNorm2d):
        init.ones_(m.weight)
        init.zeros_(m.bias)


torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 5))
net.apply(init_weights)
for name, p in net.named_parameters():
    print(f'{name:10s} {str(list(p.shape)):16s} mean {p.mean().item():+.4f} std {p.std(unbiased=False).item():.4f}')
w = torch.empty(3, 5)
for f in (init.uniform_, init.normal_, init.orthogonal_, init.xavier_normal_, init.kaiming_uniform_):
    torch.manual_seed(1)
    f(w)
    print(f.__name__, round(w.sum().item(), 3))
total = sum(p.numel() for p in net.parameters())
trainable = sum(p.numel() for p in net.parameters() if p.requires_grad)
print(f'{total:,} total, {trainable:,} trainable')
print([type(m).__name__ for m in net.modules()])
