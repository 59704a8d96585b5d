# engine: torch
# ask: w
# line: loss = torch.log10(spec.clamp(min=1e-3)).mean()
# must: clamp on line
# never: view_as_complex on
import torch
w = torch.tensor([1e-7], requires_grad=True)
x = torch.sin(torch.arange(256.0))
spec = (torch.view_as_complex((x * w).view(-1, 2)) * 2).abs()
loss = torch.log10(spec.clamp(min=1e-3)).mean()
loss.backward()
