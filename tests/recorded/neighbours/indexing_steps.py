# Which views an index is made of
import torch

def names(y):
    n=y.grad_fn; r=[]
    while n is not None:
        r.append(n.name()); nx=[e[0] for e in n.next_functions if e[0] is not None]; n=nx[0] if nx else None
    return r
x = torch.arange(24.).reshape(2,3,4).requires_grad_()
for y in [x[:], x[:,1], x[:,:], x[:,:,1], x[:,None], x[0:1,1:], x[...,0], x[...], x[None], x[0:], x[:2], x[:3], x[0:2:1], x[:,0:3], x[:, [0]], x[[0]], x[:, :, [0]], x[0], x[0,1], x[0][1], x[...,None], x[:,-1], x[1:,0], x[:, x[0,:,0]>0], x[()] , x[True], x[:, True], x[::2], x[..., :2], x[0, ..., 1], x[None, 0], x[:, 1:2, None]]:
    print(tuple(y.shape), names(y))
