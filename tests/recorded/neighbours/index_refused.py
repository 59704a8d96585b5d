# Indices of every kind, what they give, and what is refused
import torch

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x[3])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x[-4])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x[0,4])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x[[3]])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x[[0,1],[0,1,2]])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x[torch.tensor([0.])])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x['a'])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x[1.0])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x[::-1])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x[0:1:0])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x[0,0,0])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x[...,...])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x[torch.tensor([True])])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x[torch.ones(3,3)>0])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x[:,[4]])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x[None,None,0,0,0])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x[{}])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x[torch.tensor([5])])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x[:,torch.tensor([True,False])])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.index_select(0,torch.tensor([3])))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.index_select(2,i))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.index_select(0,torch.tensor([[0]])))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.index_select(0,torch.tensor([0.])))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.gather(0,torch.tensor([[5]])))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.gather(0,torch.tensor([0])))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.gather(2,torch.tensor([[0]])))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.gather(1,torch.tensor([[0.]])))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.gather(1,torch.zeros(4,1,dtype=torch.long)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.gather(0,torch.tensor([[0]],dtype=torch.int32)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.scatter(0,torch.tensor([[9]]),1.))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.scatter(0,torch.tensor([[0,0]]),torch.ones(1,1)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.scatter(0,torch.tensor([[0]]),torch.ones(1,1).double()))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.scatter(0,torch.tensor([0]),1.))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.scatter_add(0,torch.tensor([[0]]),torch.ones(1)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.scatter_reduce(0,torch.tensor([[0]]),torch.ones(1,1),'foo'))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.scatter(0,torch.tensor([[0]]),1.,reduce='foo'))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.index_add(0,i,torch.ones(3,4)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.index_add(0,i,torch.ones(2,3)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.index_add(0,torch.tensor([5]),torch.ones(1,4)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.index_add(0,i,torch.ones(2,4).double()))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.index_copy(0,i,torch.ones(3,4)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.index_copy(0,torch.tensor([7]),torch.ones(1,4)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.index_fill(0,torch.tensor([7]),1.))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.index_fill(0,i,torch.ones(2)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.take(torch.tensor([12])))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.take(torch.tensor([0.])))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.masked_select(torch.ones(2)>0))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.masked_select(torch.ones(3)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.masked_fill(torch.ones(3)>0,1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.masked_fill(x,1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.masked_fill(x>1,torch.ones(2)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.masked_scatter(x>0,torch.ones(2)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.index_put((torch.tensor([9]),),torch.tensor(1.)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.index_put((i,),torch.ones(3)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.index_put(i,torch.ones(3)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.index_put((i,),torch.ones(2,4).double()))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.take_along_dim(torch.tensor([0]),1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.take_along_dim(torch.tensor([[0.]]),1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(torch.where(x,x,x))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(torch.where(x>0,x,torch.ones(3)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(torch.where(x>0,x))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.topk(9))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.topk(2,5))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.kthvalue(9))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.kthvalue(0))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.sort(4))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.nonzero(as_tuple=True))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(torch.tensor(1.).nonzero())
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x[torch.tensor(5)])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(torch.ones(3)[torch.tensor(True)])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x[torch.tensor([[0],[1]]),torch.tensor([0,1])])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.select(0,3))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(torch.ones(0)[0])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(torch.ones(0)[[]])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(torch.ones(0).max())
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.put(torch.tensor([0]),torch.ones(2)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.put(torch.tensor([12]),torch.ones(1)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(x.index_reduce(0,i,torch.ones(2,4),'sum'))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(torch.bucketize(x,x))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
i = torch.tensor([0,2])
try: print(torch.cat([x[0:0],x]).shape)
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([3.,1.,2.,1.], requires_grad=True)
for n, f in [('sort', lambda: x.sort()), ('topk', lambda: x.topk(2)), ('topkS', lambda: x.topk(2,largest=False)), ('kth', lambda: x.kthvalue(2)), ('median', lambda: x.median(0)), ('mode', lambda: x.mode()), ('max', lambda: x.max(0)), ('min', lambda: x.min(0,keepdim=True)), ('cummax', lambda: x.cummax(0)), ('aminmax', lambda: torch.aminmax(x)), ('msort', lambda: (torch.msort(x),)), ('nanmed', lambda: x.nanmedian(0)), ('uniq', lambda: torch.unique(x.detach(), return_inverse=True, return_counts=True)), ('uc', lambda: torch.unique_consecutive(x.detach(), return_counts=True)), ('std_mean', lambda: torch.std_mean(x)), ('sortst', lambda: torch.sort(x,stable=True,descending=True)), ('frexp', lambda: torch.frexp(x.detach())), ('where', lambda: torch.where(x>1)), ('qr', lambda: torch.linalg.qr(torch.eye(2))), ('histc', lambda: (torch.histc(x.detach(),3),torch.bincount(torch.tensor([1,1,3])))), ('hist', lambda: torch.histogram(x.detach(),2)), ('medall', lambda: (x.median(), x.argmin(), x.argmax(), x.argsort(), x.nanmedian(), x.quantile(0.5), x.nanquantile(0.3), x.amax(), x.amin()))]:
    r = f(); print(n, r, type(r).__name__)
    if r[0].requires_grad: print(torch.autograd.grad(r[0].sum(), x))
m = x.max(0); print(m.values, m.indices, m[0] is m.values, len(m), isinstance(m, tuple)); v, i = m; print(v, i); print(m._fields if hasattr(m,'_fields') else 'nofields', m == m, m.count(1) if False else 0)

x = torch.zeros(5); i = torch.tensor([0,0,3])
x.index_add_(0, i, torch.ones(3)); print(x); x.index_fill_(0, i, 7.); print(x); x.index_copy_(0, torch.tensor([1,2]), torch.tensor([8.,9.])); print(x)
x.scatter_(0, torch.tensor([4]), torch.tensor([5.])); x.scatter_add_(0,i,torch.ones(3)); print(x);  x.put_(torch.tensor([0,1]), torch.tensor([1.,1.]), accumulate=True); print(x); x.index_put_((i,), torch.tensor(1.), accumulate=True); print(x)
x[i] += 1; print(x); x[x>5] -= 5; print(x); x[1:4][x[1:4]<5] = 0; print(x); x[[0,1]] = x[[1,0]]; print(x); x[::2] = torch.tensor([1.,2.,3.]); print(x, x._version)
w = torch.tensor([1.,2.,3.], requires_grad=True); z = torch.zeros(5); z = z.index_add(0,i,w); print(z); z.pow(2).sum().backward(); print(w.grad)
z = torch.zeros(5); z[i] = w; print(z); g, = torch.autograd.grad(z.sum(), w); print(g); z = torch.zeros(5).scatter_reduce(0,i,w,'amax',include_self=False); print(z, torch.autograd.grad(z.sum(), w)); e = torch.nn.functional.embedding(i, w[:,None].expand(3,2) if False else torch.eye(4)); print(e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.scatter(0,torch.tensor([[0.]]),1.))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.scatter_add(0,torch.tensor([[0.]]),torch.ones(1,1)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.scatter_add(0,torch.tensor([[5]]),torch.ones(1,1)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.scatter(0,torch.tensor([[5]]),torch.ones(1,1)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.scatter_add(0,torch.tensor([[0]]),torch.ones(1,1).double()))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.scatter_reduce(0,torch.tensor([[0]]),torch.ones(1,1).double(),'sum'))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.scatter_add(0,torch.tensor([[0,1]]),torch.ones(1,1)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.scatter_add(0,torch.tensor([0]),torch.ones(1)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.scatter(1,torch.zeros(4,1,dtype=torch.long),1.))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.scatter(1,torch.zeros(4,1,dtype=torch.long),torch.ones(4,1)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.gather(0,torch.tensor([[-1]])))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.index_select(0,torch.tensor([-1])))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.index_add(0,torch.tensor([-1]),torch.ones(1,4)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.index_copy(0,torch.tensor([-1]),torch.ones(1,4)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.index_fill(0,torch.tensor([-1]),1.))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.index_fill(0,torch.tensor([[0]]),1.))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.index_fill(0,torch.tensor([0.]),1.))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.index_add(0,torch.tensor([0.]),torch.ones(1,4)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.index_copy(0,torch.tensor([0.]),torch.ones(1,4)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.index_copy(0,i,torch.ones(2,3)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.index_copy(0,i,torch.ones(2,4).double()))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.index_add(2,i,torch.ones(2,4)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.index_add(0,torch.tensor([[0]]),torch.ones(1,4)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.take(torch.tensor([-13])))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.put(torch.tensor([0.]),torch.ones(1)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.put(torch.tensor([0]),torch.ones(1).double()))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.masked_scatter(x,x))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.masked_scatter(torch.ones(3)>0,x))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.masked_fill(torch.tensor([1,0,1,0]),0))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[torch.tensor([1,0,1],dtype=torch.uint8)])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[torch.tensor(True)])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[torch.tensor(False)])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[0,...,1])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[...,0,0])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[None,...,None].shape)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[[0,2],:][:,[1,3]])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[[0,2]][:,[1,3]])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[[[0],[2]],[1,3]])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[(0,1),(2,3)])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[[(0,1),(2,3)]])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[[slice(0,1),0]])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[[None,0]].shape)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[[i,i]])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[[True,False,True]])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[[True,False]])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[[[True,False,True,False]]*3])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[i,None].shape)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[None,i].shape)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[i][None].shape)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[:,i].shape)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[i,i])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[i[:,None],i])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[i,1:3])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[0:2,i])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[0,i])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[i,0])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[torch.tensor([0,-1])])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[-1])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[-1,-1])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[1:])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[:-1])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[::2,::3])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[5:])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[2:1])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[-2:])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[-10:2])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[:,1:100].shape)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[True].shape)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[False].shape)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[True,0])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[0,True])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[None])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[()].shape)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[[]])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[torch.tensor([],dtype=torch.long)])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[torch.tensor([])])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[x>100])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[x>8])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[x.sum(1)>10])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[:,x.sum(0)>15])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[(x>2)&(x<5)])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[~(x>2)])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.nonzero()[:2])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print((x>9).nonzero(as_tuple=True))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(torch.where(x>9))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[torch.where(x>9)])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[range(2)])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[slice(0,2)])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[torch.tensor(1),torch.tensor(2)])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[torch.tensor(1):])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[:torch.tensor(2)])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[torch.tensor([1]),torch.tensor(2)])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[3])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[0][4])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[:,5])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[0,0,0])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[[5]])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[[0],[5]])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[:,[5]])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[[0],:,[1]])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x['a'])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[0.5])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[None,'a'])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[torch.tensor(0.5)])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[[0.5]])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[torch.ones(2,2)>0])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[torch.ones(3,5)>0])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[torch.ones(3,4,1)>0])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[i,torch.tensor([0,1,2])])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.take_along_dim(torch.tensor([[0],[1],[2]]),dim=1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.argmax())
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.argmax(1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.argmin(0,keepdim=True))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.unravel_index if False else 0)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(torch.unravel_index(torch.tensor(5),(3,4)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.index_select(dim=1,index=i))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x.tolist()[0][1])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[0].item() if False else 0)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[0,1].item())
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(int(x[0,1]))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(float(x[0,1]))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print([1,2,3][torch.tensor(1)])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print([1,2,3][x[0,1]] if False else 0)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print([1,2,3][torch.tensor(1.)])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(range(3)[torch.tensor(1)])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(len(x))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(5. in x)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(100 in x)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(x[0] in x if False else 0)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(list(x)[0])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print([r.sum().item() for r in x])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(sum(x))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(max(x[0]))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(sorted(x[0].tolist()))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4); i = torch.tensor([0,2])
try: print(reversed(x) if False else 0)
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.__setitem__(0, torch.ones(3)))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.__setitem__((0,0), torch.ones(4)))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.__setitem__(5, 1))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.__setitem__((0,5), 1))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.__setitem__([5], 1))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.__setitem__(x>=0, torch.ones(5)))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.__setitem__([0,1], torch.ones(3,4)))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.__setitem__(slice(0,2), torch.ones(3,4)))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.__setitem__(0, [1,2,3,4]))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.__setitem__(0, 'a'))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.__setitem__('a', 1))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.__setitem__(0, None))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.__setitem__((slice(None),[0,1]), torch.ones(3,1)))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.__setitem__((slice(None),[0,1]), torch.ones(2,1)))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.__setitem__(torch.ones(3)>0, torch.ones(2,4)))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.__setitem__(0, torch.ones(4,dtype=torch.double)))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.__setitem__([0], torch.ones(4,dtype=torch.double)))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.__setitem__([0], torch.ones(4,dtype=torch.long)))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.long().__setitem__([0], torch.ones(4)))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.long().__setitem__(0, torch.ones(4)*1.7))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.__setitem__(x>0, 3))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.__setitem__(torch.tensor(0), 3))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.__setitem__((), 3))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.__setitem__(0, torch.ones(1,1,4)))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.__setitem__(0, torch.ones(2,4)))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.__setitem__(0, True))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print((x>0).__setitem__(0, 2))
except Exception as e: print(type(e).__name__, e)

x = torch.zeros(3,4)
try: print(x.__setitem__(None, 2))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.,requires_grad=True); y = (x*1).reshape(2,3)
y[0] = y[1]; print(y, y.grad_fn); y.sum().backward(); print(x.grad)
x.grad=None; y = x.reshape(2,3).clone(); y[:,0] *= 2; y[1,1:] = y[0,:2]; print(y.grad_fn.name()); y.sum().backward(); print(x.grad)
x.grad=None; y = x*1; y[y>2] = 0; y[[0,1]] = y[[1,0]]; y[-1:] = x[:1]*5; print(y); y.sum().backward(); print(x.grad)
x.grad=None; y = torch.zeros(6); y[::2] = x[:3]; y[1] = x[5]; y[torch.tensor([3,5])] += x[:2]; print(y); (y*torch.arange(6.)).sum().backward(); print(x.grad)
x.grad=None; z=torch.zeros(3); z.index_add_(0,torch.tensor([0,0,2]),x[:3]); z.scatter_add_(0,torch.tensor([1]),x[5:]); z.masked_fill_(z==0,9); print(z); z.prod().backward(); print(x.grad)
x.grad=None; w=x.clone(); w.index_fill_(0,torch.tensor([1]),7.); w.index_copy_(0,torch.tensor([2]),x[:1]); w.masked_scatter_(w>6,x[3:]); print(w); (w**2).sum().backward(); print(x.grad)

x = torch.arange(12.).reshape(3,4).requires_grad_()
for k in [0, (0,1), slice(0,2), (slice(None),1), ([0,2],), ([0,0,1],[1,1,2]), (None,0), (Ellipsis,2), torch.tensor([2,2]), (slice(0,3,2),[1,3]), (torch.tensor([[0,1],[1,2]]),), (torch.tensor([True,False,True]),), (0,slice(1,3)), (slice(None),slice(None,None,2))]:
    y = x[k]; g, = torch.autograd.grad((y*torch.arange(1.,y.numel()+1).reshape(y.shape)).sum(), x); print(y, y.grad_fn.name(), g)
