"""Names of several processes, of compilers and of older versions, with one process and without a compiler."""

import io
import warnings

import torch
from torch import nn
from torch.nn.utils.clip_grad import clip_grad_norm_
from torch.nn.utils.convert_parameters import parameters_to_vector
from torch.utils.data._utils.collate import default_collate

warnings.simplefilter("ignore")
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        norms = nn.BatchNorm2d(2), nn.BatchNorm2d(2, affine=False), nn.BatchNorm2d(2, track_running_stats=False)
        self.layers = nn.Sequential(nn.Conv2d(1, 2, 3), *norms)

    def forward(self, x):
        return self.layers(x)


net, x = Net().eval(), torch.randn(2, 1, 5, 5)
traced = torch.jit.trace(net, x)
memory = io.BytesIO()
for place in ("net.pt", memory):
    torch.jit.save(traced, place)
    memory.seek(0)
    print(torch.equal(torch.jit.load(place, map_location="cpu")(x), net(x)))
print(net.compile())

sync = nn.SyncBatchNorm.convert_sync_batchnorm(net.train())
print(sync is net, sync)
print(sync(x).sum().abs() < 1e-4, sync.layers[1].running_mean, sync.layers[1].num_batches_tracked)
try:
    nn.SyncBatchNorm(2)(torch.ones(2))
except ValueError as error:
    print(error)
print(nn.SyncBatchNorm(3, eps=1e-3), nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm1d(2)))

layer = nn.Linear(2, 1)
(layer(torch.ones(1, 2)) * 100).sum().backward()
print(nn.utils.clip_grad_norm(layer.parameters(), 1.0), layer.weight.grad)
print(clip_grad_norm_(layer.parameters(), 0.5), parameters_to_vector(layer.parameters()).shape)
print(default_collate([torch.ones(1), torch.zeros(1)]), torch.eye(2).to_sparse().layout == torch.sparse_coo)
