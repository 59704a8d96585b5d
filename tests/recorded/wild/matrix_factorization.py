import torch
from torch import nn
from collections import defaultdict


class MF(nn.Module):
    def __init__(self, n_users, n_items, k=3):
        super().__init__()
        self.users, self.items = nn.Embedding(n_users, k), nn.Embedding(n_items, k)
        self.user_bias, self.item_bias = nn.Embedding(n_users, 1), nn.Embedding(n_items, 1)
        for table in (self.users, self.items):
            table.weight.data.uniform_(-0.1, 0.1)

    def forward(self, u, i):
        dot = (self.users(u) * self.items(i)).sum(dim=1, keepdim=True)
        return (dot + self.user_bias(u) + self.item_bias(i)).squeeze()


ratings = [(0, 0, 5.), (0, 1, 3.), (1, 0, 4.), (1, 2, 1.), (2, 1, 2.), (2, 2, 5.), (3, 0, 1.), (3, 3, 4.)]
by_user = defaultdict(list)
for user, item, rating in ratings:
    by_user[user].append((item, rating))
print(dict(by_user))
torch.manual_seed(0)
u, i, r = (torch.tensor(col) for col in zip(*ratings))
model = MF(4, 4)
opt = torch.optim.SGD(model.parameters(), lr=0.5, weight_decay=1e-4)
for epoch in range(200):
    loss = nn.MSELoss()(model(u, i), r)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 50 == 49:
        print(f'epoch {epoch + 1} rmse {loss.sqrt():.3f}')
print(r.dtype, model(u, i).shape)
