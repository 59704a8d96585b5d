# Sets, counts, searches, strided views
import torch

x = torch.tensor([[1., 5., 3.], [4., 2., 6.], [9., 7., 8.]], requires_grad=True)
print(x.kthvalue(2,1)); y = x.kthvalue(1, 0, keepdim=True)[0]; y.sum().backward(); print(y.shape, x.grad)
z = torch.tensor([3, 1, 2, 3, 1, 1]); print(torch.unique(z), torch.unique(z, return_inverse=True, return_counts=True), torch.unique_consecutive(z, return_counts=True))
print(torch.unique(torch.tensor([[1,2],[1,2],[0,1]]), dim=0))
print(torch.bincount(z), torch.histc(x.detach(), 3), torch.bucketize(torch.tensor([0.5, 3., 9.]), torch.tensor([1., 3., 5.])), torch.searchsorted(torch.tensor([1., 3., 5.]), torch.tensor([3., 4.]), right=True), torch.isin(z, torch.tensor([1, 2])))
print(torch.tril_indices(3, 3), torch.triu_indices(2, 3, 1), torch.unravel_index(torch.tensor([5, 3]), (2, 3)), torch.argwhere(z > 1).flatten())
print(x.as_strided((2, 2), (1, 2)), x.take(torch.tensor([0, -1])))
x.grad = None; (x.take(torch.tensor([0, 0, 5])) ** 2).sum().backward(); print(x.grad)
x.grad = None; x.as_strided((2, 2), (1, 1), 1).sum().backward(); print(x.grad)
print(torch.sort(torch.tensor(3.)), torch.tensor(2.).sort()[0], torch.trace(x.detach()), torch.tensor(3.).argsort(), torch.tensor(2.).topk(1))
print(torch.histogram(torch.tensor([1., 2., 1.]), bins=4, range=(0., 3.)))
