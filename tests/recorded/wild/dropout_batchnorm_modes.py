import torch
import torch.nn as nn

torch.manual_seed(0)
x = torch.arange(12.).view(4, 3)
drop = nn.Dropout(0.5)
print(drop(torch.ones(2, 5)))
drop.eval()
print(drop(torch.ones(2, 5)))
bn = nn.BatchNorm1d(3, momentum=0.5)
for _ in range(2):
    out = bn(x)
print(out.mean(0).abs().max() < 1e-6, bn.running_mean, bn.running_var, bn.num_batches_tracked)
bn.eval()
print(bn(x)[0])
ln, gn = nn.LayerNorm(3, elementwise_affine=False), nn.GroupNorm(1, 3)
print(ln(x)[0], gn(x.view(4, 3, 1)).shape, nn.InstanceNorm1d(3)(x.view(1, 3, 4))[0, 0])
net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(p=0.2))
print(net.training, [m.training for m in net])
net.eval()
print([m.training for m in net], sorted(net.state_dict()))
with torch.no_grad():
    a, b = net(x), net(x)
print(torch.equal(a, b))
print(nn.functional.dropout(torch.ones(6), p=0.5, training=True), nn.Dropout2d(0.5)(torch.ones(1, 4, 1, 1)).flatten())
