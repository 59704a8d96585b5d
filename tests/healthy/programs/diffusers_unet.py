import torch
from diffusers import DDPMScheduler, UNet2DModel

torch.manual_seed(0)
model = UNet2DModel(
    sample_size=8, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=4,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    attention_head_dim=8,
)  # fmt: skip
noise_scheduler = DDPMScheduler(num_train_timesteps=100)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(2):
    clean, noise = torch.randn(2, 1, 8, 8), torch.randn(2, 1, 8, 8)
    t = torch.randint(0, 100, (2,))
    noisy = noise_scheduler.add_noise(clean, noise, t)
    loss = torch.nn.functional.mse_loss(model(noisy, t).sample, noise)
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
