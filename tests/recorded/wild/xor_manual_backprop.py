import torch

torch.manual_seed(0)
X = torch.tensor([[0., 0.], [0., 1.], [1., 0.], [1., 1.]])
Y = torch.tensor([[0.], [1.], [1.], [0.]])
W1, b1 = torch.randn(2, 4), torch.zeros(4)
W2, b2 = torch.randn(4, 1), torch.zeros(1)
lr = 0.5
for epoch in range(1, 1501):
    h = torch.tanh(X @ W1 + b1)
    out = torch.sigmoid(h @ W2 + b2)
    loss = torch.mean((out - Y) ** 2)
    d_out = 2 * (out - Y) / len(X) * out * (1 - out)
    dW2, db2 = h.t() @ d_out, d_out.sum(0)
    d_h = d_out @ W2.t() * (1 - h ** 2)
    dW1, db1 = X.t() @ d_h, d_h.sum(0)
    for param, grad in ((W1, dW1), (b1, db1), (W2, dW2), (b2, db2)):
        param -= lr * grad
    if epoch in {1, 500, 1000, 1500}:
        print('epoch', epoch, 'loss', '{:.4f}'.format(loss))
print((out > 0.5).int().flatten().tolist())
