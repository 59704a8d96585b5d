from types import SimpleNamespace
from copy import deepcopy
import os
import sys
import warnings

import torch

warnings.filterwarnings('ignore')
cfg = SimpleNamespace(lr=0.1, model=SimpleNamespace(width=4, depth=2), seed=int(os.environ.get('GT_NO_SUCH_SEED', 3)))
other = deepcopy(cfg)
other.model.width = 8
print(cfg, cfg == other, vars(cfg.model))
out_dir = os.path.join('runs', 'exp_%d' % cfg.seed)
print(out_dir, os.path.exists(out_dir), os.path.splitext('weights.pt'), os.path.basename(out_dir))
if torch.cuda.is_available():
    device = torch.device('cuda')
elif sys.platform == 'none':
    device = undefined_backend()
else:
    device = torch.device('cpu')


def never_called():
    return unknown_name + another


for c in (cfg, other):
    torch.manual_seed(c.seed)
    layers = [torch.nn.Linear(3 if i == 0 else c.model.width, c.model.width) for i in range(c.model.depth)]
    net = torch.nn.Sequential(*layers).to(device)
    print([tuple(l.weight.shape) for l in net], f'{net(torch.ones(1, 3)).sum().item():.4f}')
print([n for n in dir(cfg) if not n.startswith('_')], hasattr(cfg, 'lr'), getattr(cfg, 'none', None))
try:
    never_called()
except NameError as e:
    print(e)
sys.stdout.write('done\n')
