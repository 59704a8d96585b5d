import torch
from torch import nn
from torch.func import functional_call, grad_and_value

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
params = {k: v.detach() for k, v in net.named_parameters()}
data, labels = torch.randn(12, 8), torch.randint(0, 3, (12,))

def loss_fn(p, inp, tgt):
    out = functional_call(net, p, (inp,))
    return nn.functional.cross_entropy(out, tgt)

step_fn = grad_and_value(loss_fn)
for _ in range(6):
    grads, value = step_fn(params, data, labels)
    params = {k: params[k] - 0.1 * grads[k] for k in params}
    print(f"{value.item():.6f}")
