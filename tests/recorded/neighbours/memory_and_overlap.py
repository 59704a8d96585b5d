# Storage, resize_, as_strided, and in-place operations whose operands lie on each other
import torch

import torch
x=torch.arange(6.).reshape(2,3)
print(x.data_ptr()==x[0].data_ptr(), x.data_ptr()==x.detach().data_ptr(), x.data_ptr()==x.clone().data_ptr(), x[1].data_ptr()-x.data_ptr(), x[1].storage_offset(), x.storage_offset(), x.t()[1:,1:].storage_offset(), torch.ones(0).data_ptr())
print(torch.tensor(1.).data_ptr()==0, x.untyped_storage().data_ptr()==x[1].untyped_storage().data_ptr(), x.untyped_storage().nbytes(), x.untyped_storage().size(), len(x.untyped_storage()), x.storage().size())

x=torch.arange(6.); x.as_strided_((2,2),(1,2)); print(x, x._version, x.stride())
x=torch.arange(6.); x.as_strided_((2,2),(1,2),1); print(x)
x=torch.ones(4,requires_grad=True)
y=x*2; z=y.as_strided_((2,),(1,)); print(y, y is z, y._version); y.sum().backward(); print(x.grad)
try: x.as_strided_((2,),(1,))
except RuntimeError as e: print(e)
t=torch.arange(6.).reshape(2,3).t()
print(t.as_strided((2,2),(1,2)), t.as_strided((2,2),(1,2),1), t[1:].as_strided((2,),(1,)), t[1:].as_strided((2,),(1,),0))
w=torch.arange(6.,requires_grad=True); u=(w.reshape(2,3).t()); v=u[1:].as_strided((2,2),(1,2)); print(v); (v*torch.tensor([[1.,2.],[3.,4.]])).sum().backward(); print(w.grad)
w.grad=None; v=u.as_strided((3,),(0,),2); print(v, v._base is w, v.grad_fn); v.sum().backward(); print(w.grad)
w=torch.arange(6.,requires_grad=True); q=(w*1).reshape(2,3); v=q.as_strided((2,2),(1,2)); 
try: v.mul_(2); print(q, v); q.sum().backward(); print(w.grad)
except RuntimeError as e: print(e)

for f in [lambda: torch.zeros(3,3).fill_diagonal_(5), lambda: torch.zeros(2,4).fill_diagonal_(5), lambda: torch.zeros(7,3).fill_diagonal_(5), lambda: torch.zeros(7,3).fill_diagonal_(5,wrap=True), lambda: torch.zeros(3,3,3).fill_diagonal_(1), lambda: torch.zeros(3,2,3).fill_diagonal_(1), lambda: torch.zeros(3).fill_diagonal_(1), lambda: torch.zeros(2,2,dtype=torch.int).fill_diagonal_(1.5), lambda: torch.zeros(2,2).fill_diagonal_('a'), lambda: torch.zeros(2,2).fill_diagonal_(torch.tensor(3.))]:
    try: print(f())
    except Exception as e: print(type(e).__name__, e)
x=torch.ones(2,2,requires_grad=True); y=(x*2).fill_diagonal_(0); print(y); y.sum().backward(); print(x.grad)
y=(x*2); y.t().fill_diagonal_(3.); print(y)

k=0; x = torch.tensor([1.,2.,3.], requires_grad=True)
for f in [lambda y: y.expand(2,3).add_(1), lambda y: y[:1].expand(3).zero_(), lambda y: y[:1].expand(3).fill_(2), lambda y: y[:1].expand(3).copy_(y), lambda y: y.expand(2,3).masked_fill_(torch.tensor(True),2), lambda y: y.expand(2,3).exp_(), lambda y: y.expand(2,3).clamp_(0,1), lambda y: y.expand(2,3).scatter_(0,torch.tensor([[0]]),2.), lambda y: y.expand(2,3).index_fill_(0,torch.tensor([0]),1.), lambda y: y.expand(2,3).index_add_(0,torch.tensor([0]),torch.ones(1,3)), lambda y: y.expand(2,3).index_copy_(0,torch.tensor([0]),torch.ones(1,3)), lambda y: y.expand(2,3).__setitem__((0,0),5.), lambda y: y.expand(2,3).__setitem__(torch.tensor([0]),5.), lambda y: y.expand(2,3).masked_scatter_(torch.tensor([[True,False,False]]),torch.ones(9)), lambda y: y.expand(2,3).tril_(), lambda y: y.expand(2,3).cumsum_(0), lambda y: y.expand(2,3).addcmul_(torch.ones(3),torch.ones(3)), lambda y: y.expand(2,3).lerp_(torch.ones(3),0.5), lambda y: y.expand(2,3).relu_(), lambda y: y.expand(2,3).neg_(), lambda y: y.expand(2,3).pow_(2), lambda y: y.expand(2,3).t_(), lambda y: y.expand(2,3).unsqueeze_(0), lambda y: y.expand(2,3).put_(torch.tensor([0]),torch.ones(1)), lambda y: y.expand(3,3).fill_diagonal_(1.), lambda y: y.expand(2,3).renorm_(2,0,1.), lambda y: y.expand(3,3).addmm_(torch.ones(3,3),torch.ones(3,3)), lambda y: y.expand(2,3).uniform_(0,0.), lambda y: y.expand(2,3).bernoulli_(0.), lambda y: y.expand(2,3).index_put_((torch.tensor([0]),),torch.ones(1)), lambda y: y.expand(2,3).scatter_add_(0,torch.tensor([[0]]),torch.ones(1,1))]:
    y = x.detach()*1; k=k+1
    try: print(k,f(y)); print(k, y, y._version)
    except Exception as e: print(k, type(e).__name__, e)
