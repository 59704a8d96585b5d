"""Categorical and OneHotCategorical: one draw and several, with the log probability of each."""
import torch
from torch import tensor
from torch.distributions import Categorical, OneHotCategorical

def show(distribution):
    print(distribution, tuple(distribution.batch_shape), tuple(distribution.event_shape))
    for name in ("mean", "variance", "stddev"):
        print(" ", name, getattr(distribution, name))
    drawn = distribution.sample((3,))
    print("  sample", drawn)
    print("  one", distribution.sample())
    print("  log_prob", distribution.log_prob(drawn))
    wider = distribution.expand((2, *distribution.batch_shape))
    print("  expanded", wider, wider.sample())


def try_each(distribution, *names):
    for name in names:
        print(" ", name, getattr(distribution, name)())


torch.manual_seed(3)
p = tensor([0.3, 0.6, 0.1])
for distribution in (
    Categorical(p),
    Categorical(tensor([[0.3, 0.6, 0.1], [1.0, 2.0, 3.0]])),
    Categorical(logits=tensor([0.3, -0.6, 0.0])),
    OneHotCategorical(p),
    OneHotCategorical(logits=torch.zeros(2, 4)),
):
    show(distribution)
    try_each(distribution, "entropy")
print([Categorical(p).sample().item() for _ in range(20)])
print(Categorical(p).sample((2, 3)), Categorical(p).enumerate_support(), Categorical(p).mode)
print(OneHotCategorical(p).enumerate_support(), OneHotCategorical(p).mode)
print(torch.multinomial(p, 1, replacement=True), torch.multinomial(p, 2), torch.multinomial(p, 4, replacement=True))

logits = torch.zeros(4, requires_grad=True)
policy = Categorical(logits=logits)
action = policy.sample()
(-policy.log_prob(action) * 2.0 - 0.01 * policy.entropy()).backward()
print(action, policy.log_prob(action), logits.grad)
print(torch.rand(2))
