import torch
import torch.nn as nn

torch.manual_seed(4)
activations, gradients = {}, {}


def save_activation(name):
    def hook(module, inputs, output):
        activations[name] = output.detach()
    return hook


def save_gradient(name):
    def hook(module, grad_input, grad_output):
        gradients[name] = grad_output[0].detach()
    return hook


model = nn.Sequential()
model.add_module('conv', nn.Conv2d(1, 2, 3, padding=1))
model.add_module('act', nn.ReLU())
model.add_module('pool', nn.AdaptiveAvgPool2d(1))
model.add_module('flat', nn.Flatten())
model.add_module('fc', nn.Linear(2, 3))
handles = []
for name, layer in model.named_children():
    handles.append(layer.register_forward_hook(save_activation(name)))
    handles.append(layer.register_full_backward_hook(save_gradient(name)))

image = torch.randn(1, 1, 6, 6, requires_grad=True)
scores = model(image)
score_max_index = scores.argmax()
scores[0, score_max_index].backward()
saliency, _ = torch.max(image.grad.data.abs(), dim=1)
print(saliency.shape, saliency.sum())
for name in activations:
    print(f'{name:5s} {tuple(activations[name].shape)} {activations[name].mean():.4f} {gradients[name].abs().sum():.4f}')
for handle in handles:
    handle.remove()
weights = gradients['act'].mean(dim=(2, 3), keepdim=True)
cam = torch.relu((weights * activations['act']).sum(1))
print(cam.shape, torch.round(cam.max(), decimals=4))

t = torch.ones(3, requires_grad=True)
h = (t * 2).register_hook(lambda g: print('hook', g))
u = t * 3
u.register_hook(lambda g: g * 10)
u.sum().backward()
print(t.grad)
