"""Tensors of the device "meta" have a shape, a dtype and strides; nothing that needs a value works."""

import warnings

import torch
from torch import nn


def tell(call):
    try:
        print(call())
    except (RuntimeError, TypeError, NotImplementedError) as error:
        print(type(error).__name__, str(error)[:60] if "aten" not in str(error) else "")


x, y = torch.empty(2, 3, device="meta", requires_grad=True), torch.ones(2, 3)
whole = torch.empty(2, 3, device="meta", dtype=torch.int64)
for shown in (x, x * 2, x.double(), whole, x + 1, x + torch.tensor(2.0), x.sum(), x > 0, x.detach()[0], y.to("meta")):
    print(shown)
print(x.device, x.is_meta, x.is_cpu, x.get_device(), x.stride(), x.numel(), len(x), x.type(), nn.Parameter(x))
print(x.device == torch.device("meta"), torch.ones(3, device=torch.device("meta", 0)).shape, x.t().stride())
tell(lambda: x + y)
tell(lambda: y - x)
tell(lambda: x.sum().item())
tell(lambda: bool(x.sum() > 0))
tell(lambda: float(x.sum()))
tell(lambda: x.tolist())
tell(lambda: x.detach().numpy())
tell(lambda: x.cpu())
tell(lambda: x.to("cpu"))
tell(lambda: y.copy_(x))
tell(lambda: x.detach().copy_(y))
tell(lambda: x.detach().t().view(6))
tell(lambda: x.detach().t().reshape(6).is_meta)
tell(lambda: torch.cat([x, x.double()], 1).shape)
tell(lambda: x.detach().zero_().add_(1).normal_().fill_(3).shape)
tell(lambda: [row.shape for row in x.detach()])
tell(lambda: (torch.zeros_like(x).is_meta, torch.zeros_like(x, device="cpu"), x.new_ones(1), y.new_ones(1)))
tell(lambda: torch.linalg.inv(torch.ones(3, 3, device="meta")))
tell(lambda: nn.functional.dropout(x))
tell(lambda: x.topk(2))
tell(lambda: nn.CrossEntropyLoss()(torch.ones(2, 3, device="meta"), whole[:, 0]))
for needs_values in (x.nonzero, lambda: x[x > 0], lambda: torch.equal(x, x), x.unique, lambda: x.masked_select(x > 0)):
    try:
        needs_values()
    except NotImplementedError as error:
        print(type(error).__name__)

# no random number is drawn for them
torch.manual_seed(0)
torch.randn(3, device="meta")
nn.Linear(3, 4, device="meta")
print(torch.rand(1))


class Net(nn.Module):
    def __init__(self, n, device=None):
        super().__init__()
        self.a = nn.Linear(n, 4, device=device)
        self.b = nn.BatchNorm1d(4, device=device)

    def forward(self, x):
        return self.b(self.a(x)).relu()


with torch.device("meta"):
    net, z = Net(3), torch.randn(5, 3)
    print(torch.tensor([1.0, 2.0]), torch.arange(4), torch.zeros(2, device="cpu"), torch.get_default_device())
loss = net(z).sum()
hooked = net.a.register_full_backward_hook(lambda module, inward, out: print("hook", out[0]))
print(loss, loss.backward(), net.a.weight.grad, z.grad)
print(torch.autograd.grad(net(z).sum(), list(net.parameters()), create_graph=True)[0].shape)
before = net.a.weight._version
torch.optim.SGD(net.parameters(), 0.1, momentum=0.9).step()
torch.optim.Adam(net.parameters()).step()
print(net.a.weight._version > before, {tensor.device.type for tensor in net.state_dict().values()})
tell(lambda: Net(3, "meta").to("cpu"))
filled = Net(3, "meta").to_empty(device="cpu")
for parameter in filled.parameters():
    nn.init.ones_(parameter)
print(filled(torch.zeros(2, 3)).shape, filled.a.weight.is_leaf, filled.a.weight.requires_grad)
print(Net(3).to("meta").b.num_batches_tracked, nn.utils.skip_init(Net, 4).a.weight.shape)
state = Net(3).state_dict()
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    print(net.load_state_dict(state), len(found), str(found[0].message)[:90])
net.load_state_dict(state, assign=True)
print(net.a.weight.is_meta, sum(p.numel() for p in net.parameters()))
torch.set_default_device("meta")
print(torch.zeros(2), Net(3).a.weight.is_meta)
with torch.device("cpu"):
    print(torch.zeros(2), torch.get_default_device())
torch.set_default_device(None)
print(torch.zeros(2), torch.get_default_device())
