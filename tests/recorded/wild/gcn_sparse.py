"""A graph convolution on a ring of nodes whose adjacency matrix is sparse, in the style of pygcn."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class GraphConvolution(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.zeros(out_features))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, input, adj):
        support = torch.mm(input, self.weight)
        return torch.spmm(adj, support) + self.bias


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.gc1 = GraphConvolution(4, 8)
        self.gc2 = GraphConvolution(8, 2)

    def forward(self, x, adj):
        x = F.dropout(F.relu(self.gc1(x, adj)), 0.2, training=self.training)
        return F.log_softmax(self.gc2(x, adj), dim=1)


n = 12
rows = torch.arange(n).repeat(3)
columns = torch.cat([torch.arange(n), (torch.arange(n) + 1) % n, (torch.arange(n) - 1) % n])
adj = torch.sparse_coo_tensor(torch.stack([rows, columns]), torch.full((3 * n,), 1 / 3), (n, n))
print(adj.shape, adj._nnz(), adj.is_sparse, adj.dtype)
features, labels = torch.randn(n, 4), (torch.arange(n) >= n // 2).long()
model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.05, weight_decay=5e-4)
for epoch in range(30):
    optimizer.zero_grad()
    output = model(features, adj)
    loss = F.nll_loss(output, labels)
    loss.backward()
    optimizer.step()
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1}: {loss.item():.4f}")
model.eval()
print("accuracy", (model(features, adj).argmax(1) == labels).float().mean().item())

# the forms of a sparse tensor, and gradients
i = torch.tensor([[0, 1, 1], [2, 0, 2]])
v = torch.tensor([3.0, 4.0, 5.0], requires_grad=True)
s = torch.sparse_coo_tensor(i, v, (2, 3))
x = torch.arange(6.0).view(3, 2).requires_grad_()
for product in (torch.sparse.mm(s, x), s @ x, torch.mm(s, x), torch.matmul(s, x)):
    print(product)
torch.sparse.mm(s, x).pow(2).sum().backward()
print(v.grad, x.grad)
print(s, s.t().shape, s.to_dense(), torch.sparse.sum(s), sep="\n")
double = torch.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (2, 2)).coalesce()
print(double, double.indices(), double.values(), (double * 2).to_dense(), -double)
print(torch.eye(2).to_sparse(), torch.ones(2, 2) + double, double + double)
try:
    s.values()
except RuntimeError as error:
    print(error)
