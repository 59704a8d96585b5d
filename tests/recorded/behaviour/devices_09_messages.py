"""The messages of a PyTorch without GPUs, and the names of torch.cuda and the settings that scripts use all the same."""

import torch
import torch.multiprocessing as mp
from torch import nn
from torch.hub import load_state_dict_from_url
from torch.utils.model_zoo import load_url

x = torch.ones(2)


def tell(call):
    try:
        print(repr(call()))
    except Exception as error:
        print(type(error).__name__, error)


for name in ("cuda", "cuda:1", "xpu", "gpu", "GPU", 0):
    tell(lambda: x.to(name))
    tell(lambda: torch.zeros(2, device=name))
    tell(lambda: nn.Linear(2, 2).to(name))
tell(lambda: x.to("mps"))
for call in (x.cuda, nn.Linear(1, 1).cuda, nn.ReLU().cuda, torch.cuda.synchronize, torch.cuda.init):
    tell(call)
for name in ("current_device", "get_device_name", "get_device_properties", "get_device_capability"):
    tell(getattr(torch.cuda, name))
torch.save(x, "x.pt")
tell(lambda: torch.load("x.pt", map_location="cuda:1"))
tell(lambda: x.cuda("cuda:0"))
tell(lambda: x.cuda(0))
tell(lambda: torch.cuda.FloatTensor(2))
print(torch.cuda.get_arch_list(), torch.cuda.get_rng_state_all(), isinstance(x, torch.cuda.FloatTensor))
with torch.cuda.stream(None):
    pass
try:
    raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
except RuntimeError as error:
    print(repr(error), type(error))
tell(lambda: nn.Linear(2, "a"))
tell(lambda: nn.Linear(2.0, 3))
tell(lambda: round(torch.tensor(2.5)))

torch.use_deterministic_algorithms(True, warn_only=True)
torch.set_float32_matmul_precision("high")
torch.set_num_threads(1)
print(torch.are_deterministic_algorithms_enabled(), torch.get_float32_matmul_precision(), torch.get_num_threads())
print(callable(load_state_dict_from_url), callable(load_url), mp.Process.__name__, mp.cpu_count() > 0)
