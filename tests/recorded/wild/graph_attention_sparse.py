"""Graph attention on edges: a custom Function keeps a sparse matrix for its backward, as public GAT scripts do."""

import glob
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class SparseProduct(torch.autograd.Function):
    """Multiply a sparse matrix, given by places and values, by a dense one; only the edges get gradients."""

    @staticmethod
    def forward(ctx, places, values, shape, dense):
        assert not places.requires_grad
        matrix = torch.sparse_coo_tensor(places, values, shape)
        ctx.save_for_backward(matrix, dense)
        ctx.rows = shape[0]
        return torch.matmul(matrix, dense)

    @staticmethod
    def backward(ctx, grad_output):
        matrix, dense = ctx.saved_tensors
        of_values = of_dense = None
        if ctx.needs_input_grad[1]:
            everywhere = grad_output.matmul(dense.t())
            edge = matrix._indices()[0, :] * ctx.rows + matrix._indices()[1, :]
            of_values = everywhere.view(-1)[edge]
        if ctx.needs_input_grad[3]:
            of_dense = matrix.t().matmul(grad_output)
        return None, of_values, None, of_dense


class AdjacencyProduct(torch.autograd.Function):
    """The older form: the sparse matrix itself is an argument."""

    @staticmethod
    def forward(ctx, matrix, dense):
        ctx.save_for_backward(matrix, dense)
        return torch.mm(matrix, dense)

    @staticmethod
    def backward(ctx, grad_output):
        matrix, _ = ctx.saved_tensors
        print("wanted:", ctx.needs_input_grad, "saved:", matrix.shape, matrix._nnz())
        return None, torch.mm(matrix.t(), grad_output)


class EdgeAttention(nn.Module):
    def __init__(self, size_in, size_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(size=(size_in, size_out)))
        self.score = nn.Parameter(torch.empty(size=(1, 2 * size_out)))
        nn.init.xavier_normal_(self.weight.data, gain=1.414)
        nn.init.xavier_normal_(self.score.data, gain=1.414)

    def forward(self, x, adjacency):
        count = x.size()[0]
        edge = adjacency.nonzero().t()
        h = torch.mm(x, self.weight)
        pairs = torch.cat((h[edge[0, :], :], h[edge[1, :], :]), dim=1).t()
        strength = torch.exp(-F.leaky_relu(self.score.mm(pairs).squeeze(), 0.2))
        shape = torch.Size([count, count])
        total = SparseProduct.apply(edge, strength, shape, torch.ones(size=(count, 1)))
        return F.elu(SparseProduct.apply(edge, strength, shape, h).div(total))


np.random.seed(3)
torch.manual_seed(3)
count = 12
adjacency = (np.random.rand(count, count) < 0.25).astype(np.float32)
adjacency = torch.FloatTensor(np.maximum(adjacency, adjacency.T) + np.eye(count))
labels = torch.arange(count) % 3
x = F.one_hot(labels, 4).float() + 0.1 * torch.randn(count, 4)
layers = nn.ModuleList([EdgeAttention(4, 5), EdgeAttention(5, 3)])
optimizer = torch.optim.Adam(layers.parameters(), lr=0.05, weight_decay=5e-4)
best = None
for epoch in range(6):
    optimizer.zero_grad()
    out = x
    for layer in layers:
        out = layer(out, adjacency)
    loss = F.nll_loss(F.log_softmax(out, dim=1)[:8], labels[:8])
    loss.backward()
    optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}")
    torch.save(layers.state_dict(), f"{epoch}.pkl")
    best = epoch
    for file in glob.glob("*.pkl"):
        if int(file.split(".")[0]) < best:
            os.remove(file)
layers.load_state_dict(torch.load(f"{best}.pkl"))
os.remove(f"{best}.pkl")
matrix = adjacency.to_sparse()
w = torch.ones(count, 2, requires_grad=True)
(AdjacencyProduct.apply(matrix, w) ** 2).sum().backward()
print(w.grad.sum(0))
