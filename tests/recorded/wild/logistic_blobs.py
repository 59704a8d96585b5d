# two blobs, logistic regression by hand
import torch
import numpy as np
import matplotlib.pyplot as plt
from matplotlib import cm

torch.manual_seed(42)
np.random.seed(42)
n_data = torch.ones(50, 2)
x0 = torch.normal(2 * n_data, 1)
x1 = torch.normal(-2 * n_data, 1)
x = torch.cat((x0, x1), 0).type(torch.FloatTensor)
y = torch.cat((torch.zeros(50), torch.ones(50)), ).type(torch.FloatTensor)
w = torch.randn(2, requires_grad=True)
b = torch.zeros(1, requires_grad=True)

plt.ion()
for step in range(40):
    logits = x @ w + b
    p = torch.sigmoid(logits)
    loss = -(y * torch.log(p + 1e-9) + (1 - y) * torch.log(1 - p + 1e-9)).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.5 * w.grad
        b -= 0.5 * b.grad
        w.grad.zero_()
        b.grad.zero_()
    if step % 10 == 0:
        plt.cla()
        pred_y = (p > 0.5).float().numpy()
        target_y = y.data.numpy()
        plt.scatter(x.data.numpy()[:, 0], x.data.numpy()[:, 1], c=pred_y, s=100, lw=0, cmap='RdYlGn')
        accuracy = float((pred_y == target_y).astype(int).sum()) / float(target_y.size)
        plt.text(1.5, -4, 'Accuracy=%.2f' % accuracy, fontdict={'size': 20, 'color': 'red'})
        print(step, 'loss %.5f' % loss.item(), 'accuracy %.2f' % accuracy)
        plt.pause(0.01)
plt.ioff()
plt.show()
print(w, b)
