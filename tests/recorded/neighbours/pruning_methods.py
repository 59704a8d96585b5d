# Pruning, with a method of the program's own
import torch
from torch import nn
import torch.nn.utils.prune as prune
import torch.nn.functional as F
class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.fc1 = nn.Linear(6 * 4, 12)
    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        return self.fc1(x.view(-1, 24))
torch.manual_seed(0)
model = LeNet()
module = model.conv1
prune.random_unstructured(module, name="weight", amount=0.3)
print(list(module.named_buffers())[0][1].sum())
prune.l1_unstructured(module, name="bias", amount=3)
print(module.bias)
prune.ln_structured(module, name="weight", amount=0.5, n=2, dim=0)
print(model.state_dict().keys())
prune.remove(module, 'weight')
print(list(n for n, _ in module.named_parameters()))
class FooBarPruning(prune.BasePruningMethod):
    """Prune every other entry in a tensor"""
    PRUNING_TYPE = 'unstructured'
    def compute_mask(self, t, default_mask):
        mask = default_mask.clone()
        mask.view(-1)[::2] = 0
        return mask
def foobar_unstructured(module, name):
    FooBarPruning.apply(module, name)
    return module
foobar_unstructured(model.fc1, name='bias')
print(model.fc1.bias_mask, model(torch.ones(1, 1, 8, 8)))
