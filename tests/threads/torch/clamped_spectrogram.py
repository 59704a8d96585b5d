# engine: torch
# ask: w
# line: loss = torch.log10(spec.clamp(min=1e-3)).mean()
# must: clamp on line
# never: FftR2C
# never: stft on line
import torch
w = torch.tensor([1e-7], requires_grad=True)
x = torch.sin(torch.arange(256.0))
spec = torch.stft(x * w, 64, 16, window=torch.hann_window(64), return_complex=True).abs()
loss = torch.log10(spec.clamp(min=1e-3)).mean()
loss.backward()
