# engine: torch
# cause: one sample of the data is NaN, and meets the model in the second batch; the learning rate has no part in it
# line: self.x[5, 2] = float("nan")
# must: nan
# never: diverges|learning rate|overshoot|lr=
import torch
from torch import nn
torch.manual_seed(0)
class Data(torch.utils.data.Dataset):
    def __init__(self):
        self.x = torch.randn(12, 4)
        self.x[5, 2] = float("nan")
    def __len__(self): return 12
    def __getitem__(self, i): return self.x[i], self.x[i, :1].nan_to_num()
model = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(model.parameters(), lr=0.01)
for x, y in torch.utils.data.DataLoader(Data(), batch_size=4):
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
