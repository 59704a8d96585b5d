# engine: torch
# cause: freeze() turned requires_grad off for everything whose name has "layer", also the new head_layer
# line: parameter.requires_grad = False
# line: freeze(model, "layer")
# must: head_layer
# must: requires_grad
# must: False|frozen|off|does not require
# ask: model.head_layer.weight
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def freeze(module, pattern):
    for name, parameter in module.named_parameters():
        if pattern in name:
            parameter.requires_grad = False


class Finetune(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(12, 16)
        self.layer1, self.layer2 = nn.Linear(16, 16), nn.Linear(16, 16)
        self.head_layer = nn.Linear(16, 3)
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        x = F.relu(self.layer2(F.relu(self.layer1(F.relu(self.stem(x))))))
        return self.head_layer(x) * self.scale


model = Finetune()
freeze(model, "layer")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(16, 12), torch.randint(0, 3, (16,))
loss = F.cross_entropy(model(x), y)
loss.backward()
optimizer.step()
print(model.head_layer.weight.grad)
