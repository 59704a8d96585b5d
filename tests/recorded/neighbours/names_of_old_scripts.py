# Names and flags that older scripts use, with their warnings on stderr
import torch
import torch.nn as nn
import torch.backends.cudnn as cudnn
from torch.nn.modules.utils import _pair, _single
from torch.nn.modules.loss import _Loss
from torch.optim.lr_scheduler import _LRScheduler, StepLR
from torch.utils.data.sampler import SubsetRandomSampler
from torch.utils.data.dataset import Dataset
from torch.functional import einsum

print(_pair(3), _single((1,)))
torch.backends.cudnn.deterministic = True
cudnn.benchmark = False
torch.backends.cuda.matmul.allow_tf32 = True
print(torch.backends.cudnn.deterministic, cudnn.benchmark, torch.backends.cudnn.enabled)
torch.set_num_threads(2)
torch.use_deterministic_algorithms(True)
torch.set_float32_matmul_precision("high")
x = torch.tensor([0.5, 1.0])
torch.sin_(x)
print(x)
torch.relu_(x)
torch.clamp_(x, 0, 0.6)
print(x)
torch.set_default_tensor_type(torch.DoubleTensor)
print(torch.ones(1).dtype)
torch.set_default_tensor_type("torch.FloatTensor")
print(torch.ones(1).dtype)
print(nn.init._calculate_fan_in_and_fan_out(torch.ones(2, 3)), torch.typename(x), torch.range(0, 2))
w = nn.init.xavier_normal(torch.empty(2, 2))
print(w.shape)
loss = nn.MSELoss(size_average=False)
print(loss(torch.ones(2), torch.zeros(2)), nn.functional.mse_loss(torch.ones(2), torch.zeros(2), reduce=False))


@torch.jit.script
def f(x):
    return x * 2


g = torch.compile(f)


@torch.compile(mode="reduce-overhead")
def h(x):
    return x + 1


t = torch.jit.trace(f, torch.ones(2))
print(f(x), g(x), h(x), t(x), torch.version.cuda, torch.cuda.is_available())
