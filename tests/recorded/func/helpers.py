"""torch.func's smaller names: batch norm without statistics, functionalize."""
import torch
from torch import nn
from torch.func import functionalize, replace_all_batch_norm_modules_, vmap

rows = torch.tensor([[[1.0, 2.0], [3.0, 5.0]], [[0.0, 1.0], [2.0, 2.0]]])
net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
nn.init.eye_(net[0].weight)
nn.init.zeros_(net[0].bias)
print(replace_all_batch_norm_modules_(net) is net, net[1].running_mean, net[1].track_running_stats)
print(vmap(net)(rows).detach())


def changed(t):
    y = t.clone()
    y.add_(1)
    return y


print(functionalize(changed)(rows[0]), functionalize(changed, remove="mutations_and_views")(rows[0]))
try:
    functionalize(changed, remove="x")(rows[0])
except RuntimeError as e:
    print(e)
