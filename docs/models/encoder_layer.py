import torch
import torch.nn as nn

torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(
    d_model=16, nhead=2, dim_feedforward=32, dropout=0.0, batch_first=True
)
x = torch.randn(2, 5, 16)
y = layer(x)
loss = y.pow(2).mean()
loss.backward()
