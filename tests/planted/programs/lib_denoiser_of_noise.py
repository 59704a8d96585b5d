# engine: torch
# needs: diffusers
# cause: the loss compares the noise with itself, and does not depend on the network
# line: loss = torch.nn.functional.mse_loss(noise, noise)
# must: require|depend
# never: learning rate|vanishes|mask
import torch
from diffusers import DDPMScheduler, UNet2DModel

torch.manual_seed(0)
model = UNet2DModel(
    sample_size=8,
    in_channels=1,
    out_channels=1,
    block_out_channels=(8, 8),
    layers_per_block=1,
    norm_num_groups=4,
    down_block_types=("DownBlock2D", "DownBlock2D"),
    up_block_types=("UpBlock2D", "UpBlock2D"),
)
schedule, opt = DDPMScheduler(100), torch.optim.AdamW(model.parameters(), lr=1e-4)
images, t = torch.rand(2, 1, 8, 8), torch.tensor([10, 50])
noise = torch.randn_like(images)
predicted = model(schedule.add_noise(images, noise, t), t).sample
loss = torch.nn.functional.mse_loss(noise, noise)
loss.backward()
opt.step()
