import torch
import matplotlib.pyplot as plt


def kmeans(x, k, iterations=10):
    centres = x[torch.randperm(x.size(0))[:k]].clone()
    for i in range(iterations):
        distances = torch.cdist(x, centres)
        labels = distances.argmin(dim=1)
        new = torch.stack([x[labels == j].mean(0) if (labels == j).any() else centres[j] for j in range(k)])
        if torch.allclose(new, centres):
            break
        centres = new
    return labels, centres, i


torch.manual_seed(3)
blobs = torch.cat([torch.randn(20, 3) * 0.3 + c for c in torch.tensor([[0., 0, 0], [3, 0, 1], [0, 4, -1]])])
labels, centres, steps = kmeans(blobs, 3)
print(torch.bincount(labels).tolist(), steps)
order = centres.sum(1).argsort()
print(centres[order])
centred = blobs - blobs.mean(0)
cov = centred.T @ centred / (len(blobs) - 1)
values = torch.linalg.eigvalsh(cov)
print(values, (values / values.sum()).flip(0).cumsum(0))
U, S, Vh = torch.linalg.svd(centred, full_matrices=False)
print(torch.allclose(S ** 2 / (len(blobs) - 1), values.flip(0), atol=1e-4))
plt.scatter(*(centred @ Vh[:2].T).T, c=labels)
plt.colorbar()
plt.show()
