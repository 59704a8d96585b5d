# vmap with randomness: draws of one function for each sample
import torch
from torch.func import vmap
x = torch.arange(5.)
for name, f in dict(rand=lambda x: x + torch.rand(4), randint=lambda x: x + torch.randint(0, 9, (4,)), perm=lambda x: x + torch.randperm(4), drop=lambda x: torch.nn.functional.dropout(x + torch.ones(4), 0.5), bern=lambda x: torch.bernoulli(x.expand(4) / 5), same=None).items():
    torch.manual_seed(0)
    if f is not None: print(name, vmap(f, randomness="different")(x).flatten()[:6])
    else: print(name, vmap(lambda x: x + torch.randn(20), randomness="same")(x).sum(1))
