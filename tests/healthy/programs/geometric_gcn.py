import torch
from torch_geometric.nn import GATConv, GCNConv

torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = GCNConv(5, 8)
        self.conv2 = GATConv(8, 4, heads=2)
        self.out = torch.nn.Linear(8, 3)

    def forward(self, x, edges):
        x = self.conv1(x, edges).relu()
        x = torch.nn.functional.dropout(x, 0.2, self.training)
        return self.out(self.conv2(x, edges).relu())


model = Net()
opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
x, y = torch.randn(20, 5), torch.randint(0, 3, (20,))
edges = torch.randint(0, 20, (2, 60))
train = torch.rand(20) < 0.6
for epoch in range(3):
    out = model(x, edges)
    loss = torch.nn.functional.cross_entropy(out[train], y[train])
    opt.zero_grad()
    loss.backward()
    opt.step()
