import torch
import torch.nn as nn

torch.manual_seed(0)
lstm = nn.LSTM(input_size=4, hidden_size=8, batch_first=True)
head = nn.Linear(8, 1)
x = torch.randn(3, 6, 4)
target = torch.randn(3, 1)
out, (h, c) = lstm(x)
loss = nn.functional.mse_loss(head(out[:, -1]), target)
loss.backward()
