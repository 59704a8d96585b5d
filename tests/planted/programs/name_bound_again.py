# engine: gradtrace
# ask: style
# line: style = style / style.norm()
# must: style
# must: leaf
# never: smaller lr|retain_graph
import torch

torch.manual_seed(0)
content = torch.randn(6)
style = torch.randn(6, requires_grad=True)
style = style / style.norm()
optimizer_target = torch.zeros(6)


def generator(style, content):
    return torch.tanh(style * content + style)


out = generator(style, content)
loss = ((out - optimizer_target) ** 2).mean()
loss.backward()
print(loss.item())
print(style.grad)
