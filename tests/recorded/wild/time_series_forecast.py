import numpy as np
import torch
import torch.nn as nn
from datetime import date, datetime, timedelta
from torch.utils.data import TensorDataset, DataLoader

np.random.seed(0)
torch.manual_seed(0)
start = date(2021, 1, 1)
days = [start + timedelta(days=i) for i in range(60)]
series = np.sin(np.arange(60) / 5) + 0.1 * np.random.randn(60)
print(days[0].isoformat(), days[-1].strftime('%d.%m.%Y'), (days[-1] - days[0]).days, days[10].weekday())


def windows(data, size):
    xs, ys = [], []
    for i in range(len(data) - size):
        xs.append(data[i:i + size])
        ys.append(data[i + size])
    return np.array(xs), np.array(ys)


X, y = windows(series, 8)
mean, std = X.mean(), X.std()
X, y = (X - mean) / std, (y - mean) / std
X = torch.tensor(X, dtype=torch.float32).unsqueeze(-1)
y = torch.tensor(y, dtype=torch.float32).unsqueeze(-1)
n_train = int(len(X) * 0.8)
loader = DataLoader(TensorDataset(X[:n_train], y[:n_train]), batch_size=16, shuffle=False)


class Forecaster(nn.Module):
    def __init__(self, hidden=8):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, num_layers=2, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        out, (h, c) = self.lstm(x)
        return self.head(out[:, -1])


model = Forecaster()
opt = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(8):
    losses = []
    for xb, yb in loader:
        loss = nn.functional.huber_loss(model(xb), yb)
        opt.zero_grad(); loss.backward(); opt.step()
        losses.append(loss.item())
    if epoch % 2 == 1:
        print(f'{epoch + 1}: {np.mean(losses):.4f}')
model.eval()
with torch.no_grad():
    test = nn.functional.l1_loss(model(X[n_train:]), y[n_train:])
print(X.shape, y.shape, f'{test:.3f}')
print(datetime(2020, 5, 17, 13, 5).strftime('%H:%M'), datetime.strptime('2020-02-29', '%Y-%m-%d').date())
