# The determinant of a singular matrix, and unique of what requires grad
import torch

x=torch.tensor([[1.,2.],[2.,4.]],requires_grad=True); d=torch.linalg.det(x); d.backward(); print(d, x.grad)

x=torch.tensor([3.,1.,3.],requires_grad=True); u=x.unique(); print(u)
try: u.sum().backward()
except NotImplementedError as e: print(e)
print(x.detach().unique(return_inverse=True), torch.tensor([2,1,2]).unique())

x=torch.ones(2,2); 
try: x@torch.ones(2,2).long()
except RuntimeError as e: print(e)
