# engine: torch
# cause: the discriminator's step changes its weights before the generator's backward uses them
# line: opt_d.step()
# must: step
# must: weight|parameter|saved|version|changed
# must: in.?place|chang|updat|modif
# from: https://blog.csdn.net/odbej/article/details/125158288
import torch
import torch.nn as nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 6))
discriminator = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt_g = torch.optim.SGD(generator.parameters(), lr=0.01)
opt_d = torch.optim.SGD(discriminator.parameters(), lr=0.01)
bce = nn.functional.binary_cross_entropy_with_logits
real, ones, zeros = torch.rand(8, 6), torch.ones(8, 1), torch.zeros(8, 1)

fake = generator(torch.randn(8, 4))
score = discriminator(fake)
loss_g = bce(score, ones)
loss_d = bce(discriminator(real), ones) + bce(score, zeros)
opt_d.zero_grad()
loss_d.backward(retain_graph=True)
opt_d.step()
opt_g.zero_grad()
loss_g.backward()
opt_g.step()
