"""Classes that register themselves, errors as text, and other small things of course assignments."""

import platform
import pprint
import traceback

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Layer:
    registry = {}

    def __init_subclass__(cls, /, kind=None, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.kind = kind
        Layer.registry[cls.__name__] = cls


class Dense(Layer, kind="linear"):
    pass


class Relu(Layer):
    pass


class Leaky(Relu, kind="activation"):
    pass


print({name: cls.kind for name, cls in Layer.registry.items()})
try:

    class Wrong(nn.Module, kind="x"):
        pass

except TypeError as error:
    print(error)

printer = pprint.PrettyPrinter(indent=4, width=40)
printer.pprint({"layers": sorted(Layer.registry), "sizes": list(range(20))})
print(printer.pformat([1, {"x": 2}]))
print(0 if platform.system() == "Windows" else 2, len(platform.python_version_tuple()))
try:
    torch.ones(2, 3) @ torch.ones(2, 3)
except RuntimeError as error:
    lines = traceback.format_exc().splitlines()
    print(lines[0], lines[-1], traceback.format_exception_only(type(error), error), sep="\n")

# numbers, arrays and tensors
print(list(map(torch.Tensor.numpy, [torch.ones(2), torch.zeros(1)])))
print(torch.div(7, 2, rounding_mode="floor"), torch.div(-7.5, 2, rounding_mode="trunc"), torch.div(7, 2))
print(torch.add(1, torch.ones(2), alpha=2), torch.mul(2, torch.ones(2)), torch.sub(5, 2), torch.floor_divide(7, 2))
print(torch.add(torch.ones(1), 2.5, alpha=2), torch.add(torch.tensor([1]), 2, alpha=3))
np.random.seed(0)
print(np.random.sample(3), np.random.ranf())
image = np.arange(4.0).reshape(2, 2)
print(np.pad(image, ((1, 1), (0, 2)), "constant"), np.pad(image, 1, "edge"))
print(torch.tensor([1.0, 2.0]) == np.array([1.0, 3.0]))
print(nn.MSELoss(reduction="elementwise_mean")(torch.ones(2), torch.zeros(2)))


class ScaledBatchNorm(nn.BatchNorm2d):
    def forward(self, input):
        self._check_input_dim(input)
        return super().forward(input) * 2


class StandardisedConv(nn.Conv2d):
    def forward(self, x):
        w = self.weight - self.weight.mean(dim=(1, 2, 3), keepdim=True)
        return self._conv_forward(x, w, self.bias)


print(ScaledBatchNorm(2)(torch.ones(1, 2, 2, 2)).shape, StandardisedConv(1, 2, 3)(torch.ones(1, 1, 4, 4)).shape)
try:
    ScaledBatchNorm(2)(torch.ones(2, 2))
except ValueError as error:
    print(error)
layer = nn.Linear(2, 2)
handle = layer.register_forward_pre_hook(lambda module, args: None)
print(len(layer._forward_pre_hooks), handle.id in layer._forward_pre_hooks, len(layer._forward_hooks))
handle.remove()
print(layer._forward_pre_hooks)
print([name for name in dir(torch.optim) if name in ("SGD", "Adam", "RMSprop", "lr_scheduler")])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 1)

    def forward(self, x):
        return self.fc(x)


net = Net()
parallel = nn.DataParallel(net)
print(parallel.module is net, list(parallel.state_dict()), parallel(torch.ones(2, 3)).shape)
print([index for index in np.ndindex(2, 2)], list(np.ndindex((1, 2))))
