# engine: torch
# needs: transformers
# cause: a backbone that is to be trained runs in a method under no_grad
# line: @torch.no_grad()
# must: leave out no_grad on line
# never: move line
# right: @torch.no_grad()\n    def ==> def
import torch
from torch import nn
from transformers import ViTConfig, ViTModel


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.vit = ViTModel(
            ViTConfig(
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=4,
                intermediate_size=64,
                image_size=16,
                patch_size=4,
            ),
            add_pooling_layer=False,
        )
        self.head = nn.Linear(32, 5)

    @torch.no_grad()
    def features(self, x):
        return self.vit(pixel_values=x).last_hidden_state[:, 0]

    def forward(self, x):
        return self.head(self.features(x))


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(3):
    loss = nn.functional.cross_entropy(net(torch.rand(4, 3, 16, 16)), torch.randint(0, 5, (4,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
