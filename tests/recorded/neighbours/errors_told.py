# What PyTorch says of calls that cannot be, one after the other
import torch

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x.backward())
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print((x*2).backward())
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print((x*2).backward(torch.ones(3)))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print((x*2).backward(torch.ones(2,2).double()))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print((x*2).backward(2.0))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x.sum().backward(torch.ones(2)))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x.sum().backward(torch.tensor(2.)))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(i.sum().backward())
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.tensor(1.).backward())
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x.detach().sum().backward())
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.autograd.grad(x.sum(), i))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.autograd.grad(x.sum(), torch.ones(2)))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.autograd.grad(x*2, x))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.autograd.grad(x.sum(), []))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.autograd.grad([], x))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.autograd.grad(x.sum(), torch.ones(2,requires_grad=True)))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.autograd.grad(x.sum(), torch.ones(2,requires_grad=True), allow_unused=True))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.autograd.grad(x.sum(), torch.ones(2,requires_grad=True), materialize_grads=True))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.autograd.grad([x.sum(),x.prod()], x))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.autograd.grad(x*2, x, torch.ones(3)))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.autograd.grad(x*2, x, grad_outputs=(torch.ones(2,2),)))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.autograd.grad((x*2,x*3), x, grad_outputs=(torch.ones(2,2),)))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.autograd.backward([x.sum(),x.sum()],[torch.tensor(1.)]))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.autograd.backward(x*2))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.autograd.backward([x*2],[None]))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x.sum().backward(inputs=[torch.ones(1)]))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x.sum().backward(inputs=[]))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x.sum().backward(inputs=x))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x.numpy())
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print((x*2).numpy())
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x.detach().numpy())
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x.item())
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(float(x))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(int(x))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(bool(x))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(len(torch.tensor(1.)))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x.tolist())
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print((x+x.new_ones(3)))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x@torch.ones(3))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x.mm(i))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x+'a')
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x+None)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x*[1,2])
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print([1,2]*x)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x-{})
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x/'b')
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x//None)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x%'a')
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x**None)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print('a'+x)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(None*x)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x@2)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(2@x)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x&1)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x.bool()&i)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(~x)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(-x.bool())
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x<'a')
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x=='a')
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x==None)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x!=[1])
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x<[1])
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x is None)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x in [1])
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(not x)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x and 1)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x[0] if x[0,0]>0 else 0)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(1 if x>0 else 0)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(if_(x) if False else 0)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x.foo)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x.foo())
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.foo)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.foo(x))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(F.foo)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.nn.Foo)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x.grad.foo)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x.grad.zero_())
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x.T.foo)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x())
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x[0]())
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(setattr(x,'requires_grad',False))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(setattr(x*2,'requires_grad',False))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(setattr(x,'grad',1))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(setattr(x,'grad',torch.ones(3)))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(setattr(x,'grad',x))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(setattr(x,'shape',1))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(setattr(x,'data',1))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(setattr(x,'data',i))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(setattr(x,'is_leaf',True))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(setattr(x,'grad_fn',None))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(i.requires_grad_())
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.tensor([1],requires_grad=True))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.ones(2,requires_grad=True).long().requires_grad_())
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print((x*2).requires_grad_(False))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x.detach().requires_grad_().is_leaf)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print((x*2).retain_grad())
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x.detach().retain_grad())
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x.retain_grad())
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x.view(3))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x.reshape(-1,3))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x.sum(5))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(x.mean('a'))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(i.float().mean().item())
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(i.mean())
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.zeros(2,3)@torch.zeros(2,3))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.stack([x,i]))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.cat([x,i]))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(F.softmax(x))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(F.cross_entropy(x,i.float()))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(F.mse_loss(x,i))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(F.nll_loss(x,torch.tensor([0,5])))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(F.linear(x,torch.ones(3,3)))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.nn.Linear(3,1)(x))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(F.one_hot(x))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(F.embedding(torch.tensor([5]),x))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.ones(2)[2])
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.ones(2,2)[:,2])
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.ones(2).unsqueeze(3))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.arange(3).float().sqrt().backward())
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.where(x>0))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.clamp(x))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.linspace(0,1))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.eye('a'))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.manual_seed('a'))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.set_default_dtype(torch.int))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.tensor([1,2]).sqrt_())
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.tensor([1,2])/0)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.tensor([1,2])//0)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.tensor([1,2])%0)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.tensor([1.,2.])//0)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(1/torch.tensor(0))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.tensor(2)**-1)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.tensor([2])**torch.tensor([-1]))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.tensor(5)<<1)
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.exp('a'))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.exp(2))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.sum([1,2]))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.max([1,2]))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.matmul([1],[2]))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(torch.autograd.functional.jacobian(lambda t: t.tolist(), x))
except Exception as e: print(type(e).__name__, e)

import torch.nn.functional as F
x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True); i = torch.tensor([1,2])
try: print(copy_(x) if False else 0)
except Exception as e: print(type(e).__name__, e)

x = torch.tensor(2., requires_grad=True)
y = x**2; y.backward()
try: y.backward()
except RuntimeError as e: print(e)
z = x**2; z.backward(retain_graph=True); z.backward(); print(x.grad)
try: z.backward()
except RuntimeError as e: print(type(e).__name__)
a = x*3; b = a**2; c = a**3; b.backward()
try: c.backward(); print(x.grad)
except RuntimeError as e: print(type(e).__name__, str(e)[:40])
s = x+1; t = s*2; u = s+3; t.backward(); u.backward(); print(x.grad)
import warnings
with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter('always'); q = x*2; print(q.grad, len(w), w[0].category.__name__ if w else None, str(w[0].message)[:60] if w else None)
