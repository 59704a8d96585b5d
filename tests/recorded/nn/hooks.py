# Hooks of modules: forward, backward, with options, and their order
import torch
import torch.nn as nn


def line():
    layer = nn.Linear(2, 1)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, -2.0]]))
        layer.bias.fill_(0.5)
    return layer


def attempt(f):
    try:
        print(f())
    except (RuntimeError, ValueError) as e:
        print(type(e).__name__, e)


layer = line()
after = layer.register_full_backward_hook(lambda m, gi, go: print("backward", gi, go))
before = layer.register_full_backward_pre_hook(lambda m, go: print("before", go))
x = torch.tensor([[1.0, 2.0]], requires_grad=True)
y = layer(x)
print(y)
y.sum().backward()
print(x.grad, layer.weight.grad)
layer(torch.ones(1, 2)).sum().backward()
after.remove()
before.remove()
layer.register_full_backward_hook(lambda m, gi, go: (gi[0] * 10,))
x.grad = None
layer(x).sum().backward()
print(x.grad)
attempt(lambda: layer.register_backward_hook(lambda *a: None))

layer = line()
layer.register_full_backward_pre_hook(lambda m, go: (go[0] * 3,))
x.grad = None
layer(x).sum().backward()
print(x.grad, layer.bias.grad)
layer.register_full_backward_pre_hook(lambda m, go: (go[0], go[0]))
attempt(lambda: layer(x).sum().backward())

layer = line()
layer.register_forward_pre_hook(lambda m, a, k: ((a[0] * 2,), k), with_kwargs=True)
layer.register_forward_hook(lambda m, a, k, o: print("forward", a, k), with_kwargs=True)
layer.register_forward_hook(lambda m, a, o: print("first"), prepend=True)
print(layer(torch.ones(1, 2)))
layer.register_forward_hook(lambda m, a, o: print("always", o), always_call=True)
attempt(lambda: layer(torch.ones(1, 5)))
layer = line()
layer.register_forward_pre_hook(lambda m, a, k: 3, with_kwargs=True)
attempt(lambda: layer(torch.ones(1, 2)))


class Two(nn.Module):
    def forward(self, a, b, c=1):
        return a * b, a + c


two = Two()
two.register_full_backward_hook(lambda m, gi, go: print("two", gi, go))
a = torch.tensor([1.0, 2.0], requires_grad=True)
p, q = two(a, torch.tensor([3.0, 4.0]))
(p.sum() + q.sum()).backward()
print(a.grad, len(two._backward_hooks))

order = []
net = nn.Sequential(line(), nn.ReLU())
for i, m in enumerate([net, net[0], net[1]]):
    m.register_forward_hook(lambda m, a, o, i=i: order.append(("forward", i)))
    m.register_full_backward_hook(lambda m, gi, go, i=i: order.append(("backward", i)))
net(x).sum().backward()
print(order)
net[0].register_state_dict_post_hook(lambda m, sd, prefix, meta: sd.update({prefix + "extra": 1}))
print(list(net.state_dict()))
net[0].register_load_state_dict_post_hook(lambda m, keys: keys.unexpected_keys.clear())
print(net.load_state_dict(net.state_dict()))
