# Views, shapes, and what PyTorch says of shapes that do not fit
import torch

x = torch.arange(24.).reshape(2,3,4).requires_grad_()
for n, f in [('flatten', lambda: x.flatten()), ('flatten1', lambda: x.flatten(1)), ('unflatten', lambda: x.unflatten(2,(2,2))), ('squeeze', lambda: x[:1].squeeze()), ('squeeze0', lambda: x[:1].squeeze(0)), ('unsq', lambda: x.unsqueeze(-1)), ('narrow', lambda: x.narrow(1,1,2)), ('unfold', lambda: x.unfold(2,2,1)), ('diag', lambda: x[0].diagonal()), ('as_strided', lambda: x.as_strided((2,2),(1,2))), ('select', lambda: x.select(1,0)), ('split', lambda: x.split(2,2)[0]), ('chunk', lambda: x.chunk(2,1)[1]), ('unbind', lambda: x.unbind(0)[1]), ('tsplit', lambda: x.tensor_split(3,2)[0]), ('movedim', lambda: x.movedim(0,1)), ('T', lambda: x[0].T), ('mT', lambda: x.mT), ('swap', lambda: x.swapaxes(0,1)), ('perm', lambda: x.permute(2,0,1)), ('exp', lambda: x[:, :1].expand(2,3,4)), ('view_as', lambda: x.view_as(torch.ones(6,4))), ('resh', lambda: x.reshape(4,6)), ('resh2', lambda: x.transpose(0,1).reshape(4,6)), ('cont', lambda: x.contiguous()), ('contt', lambda: x.transpose(0,1).contiguous()), ('detach', lambda: x.detach()), ('ravel', lambda: x.ravel()), ('hsplit', lambda: x.hsplit(3)[0]), ('vsplit', lambda: x.vsplit(2)[0]), ('dsplit', lambda: x.dsplit(2)[0]), ('atl', lambda: torch.atleast_2d(x[0,0])), ('bt', lambda: torch.broadcast_to(x[0,0],(2,4))), ('viewdt', lambda: x.view(torch.int32)), ('alias', lambda: x.view(2,3,4)), ('idx', lambda: x[...]), ('idx2', lambda: x[:,None]), ('idx3', lambda: x[0,1:,::2]), ('to', lambda: x.to(torch.float32)), ('H', lambda: x[0].H), ('sw', lambda: x.unfold(1,2,2)), ('expand_as', lambda: x[0].expand_as(x)), ('t', lambda: x[0].t()), ('diag2', lambda: torch.diagonal(x,1,1,2)), ('swapdims', lambda: x.swapdims(1,2)), ('moveaxis', lambda: torch.moveaxis(x,0,-1)), ('tsplit2', lambda: x.tensor_split([1,3],2)[1]), ('ssz', lambda: x.split([1,3],2)[1]), ('squeezet', lambda: x.unsqueeze(0).squeeze((0,1))), ('rt', lambda: x.reshape_as(torch.ones(8,3))), ('vr', lambda: x.view(-1)), ('slice_scatter', lambda: torch.slice_scatter(x, torch.ones(2,3,1), 2, 0, 1)), ('select_scatter', lambda: torch.select_scatter(x, torch.ones(3,4), 0, 0)), ('diagonal_scatter', lambda: torch.diagonal_scatter(x[0], torch.ones(3))), ('diag_embed', lambda: torch.diag_embed(x[0])), ('diag', lambda: torch.diag(x[0])), ('diagflat', lambda: torch.diagflat(x[0,0]))]:
    try:
        y = f(); print(n, tuple(y.shape), y.stride(), y.is_contiguous(), y.grad_fn and y.grad_fn.name(), y._is_view(), y._base is x)
        if y.requires_grad: print(torch.autograd.grad((y*torch.arange(y.numel()).reshape(y.shape)).sum(), x, allow_unused=True)[0])
    except Exception as e: print(n, type(e).__name__, str(e).split('\n')[0])

x = torch.arange(6.).reshape(2,3)
try: print(x.view(4))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.t().view(6))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.view(-1,4))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.view(-1,-1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.view(0,-1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.view(2,-2))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.reshape(0,-1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.unflatten(1,(2,2)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.unflatten(5,(1,)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.unflatten(1, ()))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.flatten(1,0))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.flatten(3))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.permute(0,0))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.permute(0))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.permute(0,5))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.transpose(0,2))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.movedim((0,1),(0,)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.movedim(0,3))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.movedim((0,0),(0,1)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.narrow(0,1,5))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.narrow(0,-5,1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.narrow(0,0,-1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.select(0,4))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.select(3,0))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.expand(2))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.expand(2,2,2))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.expand(-1,2,3))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.expand(4,3))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.expand(2,-2))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.unfold(0,3,1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.unfold(0,1,0))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.diagonal(0,0,0))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.diagonal(5))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.as_strided((3,3),(3,3)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.as_strided((2,),(1,1)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.as_strided((2,),(-1,)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.split(0))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.split(-1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.split([1]))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.split([3,-1]))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.chunk(0))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.chunk(-1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.tensor_split(0))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.unbind(2))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.squeeze(2))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.unsqueeze(4))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.unsqueeze(-4))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(torch.ones(2,2,2).t())
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(torch.ones(2).mT)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(torch.ones(2).T)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(torch.ones(2,2,2).T)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(torch.ones(2).H)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.repeat(2))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.repeat(-1,1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.repeat(2,0))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.repeat_interleave(-1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.repeat_interleave(torch.tensor([1,2]),dim=0))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.repeat_interleave(torch.tensor([1,2,3]),dim=0))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.repeat_interleave(2,dim=5))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.tile(2))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.tile((2,1,1)).shape)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.hsplit(2))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.vsplit(3))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.dsplit(1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.hsplit([1]))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.view('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.view(2.0,3))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.view())
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.reshape())
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.reshape((2,3),1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.view_as(torch.ones(5)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.view(torch.float64))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.view(torch.int16).shape)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(torch.broadcast_to(x,(2,2)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(torch.broadcast_tensors(x, torch.ones(4)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(torch.broadcast_shapes((2,3),(4,)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.swapaxes(0,4))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.flip(0,0))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.flip(3))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.rot90(1,(0,0)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.roll((1,2)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.roll(1,5))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.resize(2))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(torch.ones(0).view(-1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(torch.ones(0).view(0,-1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(torch.ones(0,3).view(-1,3).shape)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(torch.tensor(1.).expand(2))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(torch.tensor(1.).squeeze(0))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(torch.tensor(1.).unsqueeze(1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(torch.tensor(1.).t())
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(torch.tensor(1.).T)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(torch.tensor(1.).flatten())
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(torch.tensor(1.)[0])
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(torch.tensor(1.).unbind())
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(torch.tensor(1.).split(1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(torch.tensor(1.).chunk(1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(torch.tensor(1.).transpose(0,0))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(torch.tensor(1.).diagonal())
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(torch.ones(2,2).permute(1,0,2))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(torch.ones(2)[0:1].data_ptr() if False else 0)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(list(x.unbind(1)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.chunk(5,1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.chunk(2,1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.split(2,1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.split((1,2),1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3)
try: print(x.split(2, dim=2))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6., requires_grad=True); y = x*1
v = y.view(2,3); w = v[0]; z = w[1:]
print(v._base is y, w._base is y, z._base is y, y._base, x.view(2,3)._base is x, v.is_leaf, z.stride(), z._version)
y.mul_(2); print(z._version, w, w.grad_fn.name())
d = y.detach(); print(d._is_view(), d._base is None, d._version); d.zero_(); print(y._version, y)
with torch.no_grad(): n = y.view(3,2)
print(n.requires_grad, n._is_view(), n._base is y, n.grad_fn); 
c = y.clone(); print(c._is_view(), c._base); e = y.expand(2,6); print(e._base is y, e.is_contiguous(), e.stride())
r = y.reshape(6); print(r is y, r._base is y); print(y.view(6) is y, y.contiguous() is y, y.view_as(y) is y, y[:] is y)
t = torch.zeros(2,3); t.t()[0,1] = 5; print(t); t.view(-1)[2] = 3; t[:,1][0] = 9; print(t); t.reshape(3,2)[0,0] = 7; print(t); t.t().reshape(6)[5] = 100; print(t); t.flatten()[1] = 8; print(t); t.numpy()[0,0] = -1; print(t)
a,b = t.unbind(); a += 1; print(t); t.unsqueeze(0).squeeze(0).diagonal().fill_(0); print(t); t.select(0,1).zero_(); t.narrow(1,0,1).fill_(4.); t.unfold(0,2,1)[0,0,0]=77; print(t, t._version)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.view(3,2))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.view((3,2)))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.view(torch.Size([3,2])))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.view(size=(3,2)))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.reshape(shape=(3,2)))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(torch.reshape(x,(3,2)))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(torch.reshape(input=x,shape=(-1,)))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.reshape([6]))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.view(-1))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.flatten(start_dim=0))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.flatten(0,1))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.permute(dims=(1,0)))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.transpose(dim0=0,dim1=1))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.unsqueeze(dim=-1).shape)
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.squeeze(dim=0).shape)
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.expand(size=(2,2,3)).shape)
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.expand(2,-1,-1).shape)
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.swapaxes(axis0=0,axis1=1))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.movedim(source=0,destination=1))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.unflatten(dim=1,sizes=(3,1)).shape)
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.unflatten(-1,(-1,)).shape)
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.repeat(repeats=(1,2)))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.repeat_interleave(repeats=2,dim=1))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.tile((2,)))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.flip(dims=(0,)))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.roll(shifts=1,dims=1))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.rot90(k=2))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.narrow(dim=0,start=1,length=1))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.select(dim=1,index=-1))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.unbind(dim=1))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.split(split_size=2,dim=1))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.chunk(chunks=2,dim=1))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.diagonal(offset=1))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.view_as(other=torch.ones(3,2)))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.as_strided(size=(2,),stride=(1,)))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.unfold(dimension=1,size=2,step=1))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(torch.squeeze(x,0).shape)
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(torch.unsqueeze(x,0).shape)
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(torch.t(x))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(torch.moveaxis(x,0,1))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(torch.swapdims(x,0,1))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(torch.narrow(x,0,0,1))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(torch.select(x,0,0))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(torch.ravel(x))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(torch.flatten(x))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(torch.unbind(x))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(torch.atleast_1d(x[0,0],x[0]))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(torch.atleast_2d([x[0],x[0,0]]))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(torch.atleast_3d(x).shape)
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(torch.tensor_split(x,(1,),dim=1))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(torch.hsplit(x,[1,2]))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(torch.broadcast_to(x,(2,2,3)).shape)
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
for r in x.unbind(): print(r, r.grad_fn.name(), r.grad_fn.next_functions)
a, b = x.split(1); print(a, a.grad_fn.name()); p, q = x.chunk(2, 1); print(q, q.grad_fn.name()); s = x.tensor_split(2); print(s)
print(x.T, x.t().grad_fn.name(), x.transpose(0,1).grad_fn.name(), x.permute(1,0).grad_fn.name(), x.mT.grad_fn.name(), x.T.grad_fn.name(), x.H.grad_fn.name(), x.movedim(0,1).grad_fn.name(), x.swapaxes(0,1).grad_fn.name())
print(x.view(4).view(2,2).grad_fn.next_functions, x.reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.name(), x.t().reshape(4).grad_fn.next_functions, x.flatten().grad_fn.name(), x.t().flatten().grad_fn.name(), x.ravel().grad_fn.name(), x.view(1,4).squeeze().grad_fn.name(), x.view(1,4).squeeze(0).grad_fn.name(), x.view(1,4).squeeze((0,)).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x.expand(2,2,2).grad_fn.name(), x.repeat(2,1).grad_fn.name(), x.tile(2).grad_fn.name(), x.repeat_interleave(2).grad_fn.name(), x.repeat_interleave(2,0).grad_fn.name(), x.repeat_interleave(torch.tensor([1,2]),0).grad_fn.name(), x.flip(0).grad_fn.name(), x.roll(1).grad_fn.name(), x.rot90().grad_fn.name(), x.fliplr().grad_fn.name(), x.narrow(0,0,1).grad_fn.name(), x.diagonal().grad_fn.name(), x.diag().grad_fn.name(), x.tril().grad_fn.name(), x.unfold(0,1,1).grad_fn.name(), x.as_strided((2,),(1,)).grad_fn.name(), x[0].grad_fn.name(), x[0:1].grad_fn.name(), x[:,0].grad_fn.name(), x[[0]].grad_fn.name(), x[None].grad_fn.name(), x[...].grad_fn.name(), x[:].grad_fn.name(), x[0,0].grad_fn.name(), x[x>0].grad_fn.name(), x[...,0].grad_fn.name(), x[0:1,None].grad_fn.name(), x.unflatten(0,(1,2)).grad_fn.name(), x.contiguous() is x, x.t().contiguous().grad_fn.name(), x.clone().grad_fn.name(), x.trace().grad_fn.name(), x[True].grad_fn.name(), x[torch.tensor(0)].grad_fn.name(), x[torch.tensor(0),1].grad_fn.name(), x[::2].grad_fn.name(), x[1:1].grad_fn.name())
print(x.view(2,2).squeeze() is x, x.squeeze().grad_fn, x.expand(2,2).grad_fn, x.to(torch.float).grad_fn, x.reshape(2,2).grad_fn, x.reshape(2,2) is x, x.flatten(1).grad_fn, x[:, :].grad_fn, x.view(2,2).grad_fn, x.view(4)[0].grad_fn.next_functions, x.view_as(x).grad_fn, x.broadcast_to(2,2).grad_fn, x.type(torch.float32).grad_fn, x.expand_as(x).grad_fn, x.permute(0,1).grad_fn, x.transpose(0,0).grad_fn)# ---
x = torch.arange(6.).reshape(2,3).requires_grad_()
try: print(x.squeeze((0,1)).shape)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(24.).view(2,3,4)
for v in [x.view(6,4), x.view(2,12), x[0].view(-1), x[:,1].reshape(-1), x.transpose(1,2), x[...,::2], x[:, ::2, 1:3], x.permute(2,1,0), x.unsqueeze(1), x[None], x.squeeze(), x.expand(3,2,3,4), x[0,0].expand(2,4), x.unfold(2,2,2), x.diagonal(dim1=1,dim2=2), x.select(2,1), x.narrow(1,1,2), x.movedim(0,-1), x.flatten(1), x.flip(0), x.T if False else x.mT, x.swapaxes(0,2), x.contiguous(), x.mT.contiguous(), x.detach(), x.data, x.clone(), x.mT.clone(), x[0:1].expand(2,3,4).clone(), x[:,:,:], x[...], x[[0,1]], x.view(torch.int32), x.view(torch.uint8), x.chunk(2,2)[1], x.split([1,3],2)[1], x.unbind(1)[2]]:
    print(tuple(v.shape), v.stride(), v.storage_offset(), v.is_contiguous(), v._is_view(), v._base is x, v.data_ptr()==x.data_ptr(), v.dtype, v._version)

x = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
y = x * 1
v = y[0]; w = v[1:]; u = w.view(1,1)
print(v._base is y, w._base is y, u._base is y, y._base, y._is_view())
u.mul_(10); print(y, v, w, u); print(v.grad_fn, w.grad_fn, u.grad_fn.name(), y.grad_fn)
y.sum().backward(); print(x.grad)

x = torch.arange(3); print(x[0]._is_view(), x.view(3,1)._is_view(), x[1:]._base is x, x.t()._is_view(), x.detach()._is_view(), x.expand(2,3)._base is x, x.float()._is_view(), x.to(torch.long) is x, x.reshape(3)._is_view(), x.bool()[0]._is_view(), x.unbind()[0]._is_view())
with torch.no_grad():
    y=torch.ones(3,requires_grad=True); v=y[0:2]; print(v._is_view(), v._base is y, v.requires_grad, v.is_leaf, v.grad_fn, v)

x = torch.ones(2,3,requires_grad=True)
y = x*1
v = y.view(3,2)
y.mul_(2)
print(v, v.grad_fn.name(), v._version, y._version, v.is_leaf)
v.add_(1); print(y, y.grad_fn.name(), y.grad_fn.next_functions[0][0].name())
z = y.t(); z.zero_(); print(y, v)
y.sum().backward(); print(x.grad)

x = torch.ones(3, requires_grad=True)
v = x.view(3,1)
try: print(v.mul_(2))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(3, requires_grad=True)
v = x.view(3,1)
try: print(x[0].add_(1))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(3, requires_grad=True)
v = x.view(3,1)
try: print(x.add_(1))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(3, requires_grad=True)
v = x.view(3,1)
try: print(x.detach().add_(1))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(3, requires_grad=True)
v = x.view(3,1)
try: print(x.data.mul_(3))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(3, requires_grad=True)
v = x.view(3,1)
try: print(x.view(-1).zero_())
except Exception as e: print(type(e).__name__, e)

x = torch.ones(3, requires_grad=True)
v = x.view(3,1)
try: print(x.unsqueeze_(0))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(3, requires_grad=True)
v = x.view(3,1)
try: print(x.t_())
except Exception as e: print(type(e).__name__, e)

x = torch.ones(3, requires_grad=True)
v = x.view(3,1)
try: print(x.resize_(1))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(3, requires_grad=True)
v = x.view(3,1)
try: print(x.squeeze_())
except Exception as e: print(type(e).__name__, e)

x = torch.ones(3, requires_grad=True)
v = x.view(3,1)
try: print(x.fill_(0))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(3, requires_grad=True)
v = x.view(3,1)
try: print(x.copy_(torch.ones(3)))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(3, requires_grad=True)
v = x.view(3,1)
try: print(x.requires_grad_(False).add_(1))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(3, requires_grad=True)
v = x.view(3,1)
print(x, x._version)

x = torch.arange(4.).requires_grad_()
y = x * 2
a, b = y.split(2)
try: print(a.mul_(2))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(4.).requires_grad_()
y = x * 2
a, b = y.split(2)
try: print(y.mul_(2))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(4.).requires_grad_()
y = x * 2
a, b = y.split(2)
try: print(print(a))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(4.).requires_grad_()
y = x * 2
a, b = y.split(2)
try: print(a.grad_fn)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(4.).requires_grad_()
y = x * 2
a, b = y.split(2)
try: print(a.sum().backward())
except Exception as e: print(type(e).__name__, e)

x = torch.arange(4.).requires_grad_()
y = x * 2
a, b = y.split(2)
try: print(a.is_leaf)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(4.).requires_grad_()
y = x * 2
a, b = y.split(2)
try: print(a.requires_grad)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(4.).requires_grad_()
y = x * 2
a, b = y.split(2)
try: print(a + 1)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(4.)
a, b = x.split(2); a.mul_(2); b[0] = 9; print(x, a, b)
for t in x.unbind(): t.add_(1)
print(x); p, q = x.view(2,2); p += 10; print(x, p._version, x._version)
c = x.chunk(2)[1]; c.zero_(); print(x, c._base is x)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.stack([]))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.cat([]))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.cat([torch.tensor(1.)]))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.cat([x, x[0]]))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.cat([x, x.t()]))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.cat([x], 2))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.stack([x, x[0]]))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.stack([x], 4))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.hstack([x, x[0]]))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.vstack([x, torch.ones(3)]))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.cat([x, torch.tensor([])]).shape)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.cat([torch.ones(2), torch.ones(2, dtype=torch.long)]))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.cat([torch.ones(0, 3), torch.ones(2, 3)]))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.stack([torch.ones(2), torch.ones(2, dtype=torch.int)]))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.cat(torch.ones(2,2)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.cat((x,)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.cat(tensors=[x], dim=0).shape)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.cat([x,x],dim='a'))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.meshgrid(torch.arange(2), torch.arange(3), indexing='xy'))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.meshgrid(torch.arange(2), indexing='a'))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.cartesian_prod(torch.arange(2)))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.combinations(torch.arange(3), 3))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.tril_indices(3,3))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.triu_indices(2,3,1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.diag_embed(torch.ones(2),1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.diagflat(torch.ones(2), -1))
except Exception as e: print(type(e).__name__, e)

x = torch.arange(12.).reshape(3,4)
print(torch.stack([x[0], x[1]]), torch.stack((x[0], x[1]), dim=-1), torch.hstack((x[0], x[1])), torch.vstack((x[0], x[1])), torch.dstack((x[0], x[1])).shape, torch.column_stack((x[0], x[1])), torch.row_stack((x[0], x[1])), torch.cat((x, x), dim=-1).shape, torch.concat([x, x], axis=1).shape, torch.block_diag(x[:1], x[:2,:1]))
try: print(torch.vander(torch.arange(1.,4.)))
except Exception as e: print(type(e).__name__, e)

try: print(torch.arange(3.))
except Exception as e: print(type(e).__name__, e)

try: print(torch.arange(0,3,0.5))
except Exception as e: print(type(e).__name__, e)

try: print(torch.arange(3,0))
except Exception as e: print(type(e).__name__, e)

try: print(torch.arange(0,3,0))
except Exception as e: print(type(e).__name__, e)

try: print(torch.arange(1,4,dtype=torch.float64))
except Exception as e: print(type(e).__name__, e)

try: print(torch.arange(5,requires_grad=True))
except Exception as e: print(type(e).__name__, e)

try: print(torch.arange(3.,requires_grad=True))
except Exception as e: print(type(e).__name__, e)

try: print(torch.linspace(0,1,1))
except Exception as e: print(type(e).__name__, e)

try: print(torch.linspace(0,1,0))
except Exception as e: print(type(e).__name__, e)

try: print(torch.linspace(0,1,-1))
except Exception as e: print(type(e).__name__, e)

try: print(torch.linspace(1,0,3))
except Exception as e: print(type(e).__name__, e)

try: print(torch.linspace(0,10,5,dtype=torch.long))
except Exception as e: print(type(e).__name__, e)

try: print(torch.logspace(0,1,2))
except Exception as e: print(type(e).__name__, e)

try: print(torch.logspace(0,3,4,base=2))
except Exception as e: print(type(e).__name__, e)

try: print(torch.eye(0))
except Exception as e: print(type(e).__name__, e)

try: print(torch.eye(-1))
except Exception as e: print(type(e).__name__, e)

try: print(torch.eye(2,dtype=torch.long))
except Exception as e: print(type(e).__name__, e)

try: print(torch.full((),3))
except Exception as e: print(type(e).__name__, e)

try: print(torch.full((2,),2.,dtype=torch.int))
except Exception as e: print(type(e).__name__, e)

try: print(torch.full((2,),float('nan')))
except Exception as e: print(type(e).__name__, e)

try: print(torch.full((2,2),True))
except Exception as e: print(type(e).__name__, e)

try: print(torch.full((2,),1,requires_grad=True))
except Exception as e: print(type(e).__name__, e)

try: print(torch.full((2,),1.,requires_grad=True))
except Exception as e: print(type(e).__name__, e)

try: print(torch.zeros(2,0))
except Exception as e: print(type(e).__name__, e)

try: print(torch.zeros(()))
except Exception as e: print(type(e).__name__, e)

try: print(torch.zeros(2,dtype=torch.bool))
except Exception as e: print(type(e).__name__, e)

try: print(torch.ones(2,dtype=torch.long,requires_grad=True))
except Exception as e: print(type(e).__name__, e)

try: print(torch.zeros(-1))
except Exception as e: print(type(e).__name__, e)

try: print(torch.empty(0))
except Exception as e: print(type(e).__name__, e)

try: print(torch.zeros_like(torch.arange(2)))
except Exception as e: print(type(e).__name__, e)

try: print(torch.ones_like(torch.arange(2),dtype=torch.float))
except Exception as e: print(type(e).__name__, e)

try: print(torch.full_like(torch.arange(2),2.5))
except Exception as e: print(type(e).__name__, e)

try: print(torch.full_like(torch.ones(2),2))
except Exception as e: print(type(e).__name__, e)

try: print(torch.zeros_like(torch.ones(2,requires_grad=True)))
except Exception as e: print(type(e).__name__, e)

try: print(torch.zeros_like(torch.ones(2),requires_grad=True))
except Exception as e: print(type(e).__name__, e)

try: print(torch.ones(2).new_tensor([1,2]))
except Exception as e: print(type(e).__name__, e)

try: print(torch.ones(2).new_full((2,),1))
except Exception as e: print(type(e).__name__, e)

try: print(torch.arange(2).new_zeros(2,dtype=torch.float))
except Exception as e: print(type(e).__name__, e)

try: print(torch.ones(2).new_ones((1,2)))
except Exception as e: print(type(e).__name__, e)

try: print(torch.ones(2).new_empty(0))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor([]))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor([[]]))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor([1,2.5]))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor([True,2]))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor([1,True]))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor([[1,2],[3]]))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor([1,[2]]))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor('a'))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor(None))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor([None]))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor([1,'a']))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor({}))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor((1,2)))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor(range(3)))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor([torch.tensor(1.),torch.tensor(2.)]))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor([torch.ones(2),torch.ones(2)]))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor(torch.ones(2)))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor(3,dtype=torch.float64))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor([1.5],dtype=torch.long))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor([1],requires_grad=True))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor([True],requires_grad=True))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor(1e40))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor(2**40))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor(2**70))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor([300],dtype=torch.uint8))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor(-1,dtype=torch.uint8))
except Exception as e: print(type(e).__name__, e)

try: print(torch.Tensor([1,2]))
except Exception as e: print(type(e).__name__, e)

try: print(torch.Tensor(2,3).shape)
except Exception as e: print(type(e).__name__, e)

try: print(torch.Tensor())
except Exception as e: print(type(e).__name__, e)

try: print(torch.FloatTensor([1,2]))
except Exception as e: print(type(e).__name__, e)

try: print(torch.LongTensor([1,2]))
except Exception as e: print(type(e).__name__, e)

try: print(torch.scalar_tensor(3))
except Exception as e: print(type(e).__name__, e)

try: print(torch.as_tensor([1.,2.]))
except Exception as e: print(type(e).__name__, e)

try: print(torch.asarray([1]))
except Exception as e: print(type(e).__name__, e)

try: print(torch.from_numpy([1]))
except Exception as e: print(type(e).__name__, e)

try: print(torch.complex(torch.ones(1),torch.ones(1)) if False else 1)
except Exception as e: print(type(e).__name__, e)

x = torch.arange(6.).reshape(2,3).requires_grad_()
for n, f in [('flipud', torch.flipud), ('fliplr', torch.fliplr), ('flip', lambda t: t.flip(0,1)), ('roll', lambda t: t.roll(1)), ('roll2', lambda t: t.roll((1,-1),(0,1))), ('rot90', lambda t: torch.rot90(t,-1,(1,0))), ('tril', torch.tril), ('triu', lambda t: t.triu(1)), ('repeat', lambda t: t.repeat(2,2,1)), ('tile', lambda t: t.tile(2,2)), ('ri', lambda t: t.repeat_interleave(2)), ('ri2', lambda t: t.repeat_interleave(torch.tensor([1,2]),0)), ('unfold', lambda t: t.unfold(1,2,1)), ('diag', torch.diag), ('diag1', lambda t: t.diag(1)), ('diag_embed', torch.diag_embed), ('pad', lambda t: torch.nn.functional.pad(t,(1,0),value=2.)), ('cumsum', lambda t: t.cumsum(0)), ('kron', lambda t: torch.kron(t,t)), ('trace', torch.trace), ('movedim', lambda t: t.movedim(0,1)), ('select_scatter', lambda t: t.select_scatter(torch.ones(3),0,0)), ('block', lambda t: torch.block_diag(t,t)), ('stack', lambda t: torch.stack([t,t*2],1)), ('cat', lambda t: torch.cat([t,t*2],1)), ('dstack', lambda t: torch.dstack([t,t])), ('cdist', lambda t: torch.cdist(t,t)), ('nan', lambda t: t.nan_to_num()), ('squeeze', lambda t: t[:1].squeeze()), ('take', lambda t: t.take(torch.tensor([0,5]))), ('msort', lambda t: t.msort()), ('chunk', lambda t: t.chunk(2,1)[0]), ('vsplit', lambda t: t.vsplit(2)[1])]:
    y = f(x); g, = torch.autograd.grad((y*torch.arange(1.,y.numel()+1).reshape(y.shape)).sum(), x)
    print(n, y, tuple(y.shape), y.grad_fn.name(), g)

x = torch.arange(6.).reshape(2,3)
y = x.t(); print(y.is_contiguous(), y.stride(), y.contiguous().stride(), (y+1).stride(), y.clone().stride(), (y*y).is_contiguous(), y.exp().stride(), y.reshape(-1).stride(), y.flatten().tolist(), y.to(torch.float64).stride(), y.sum(0).stride(), y.float() is y, y.mT.is_contiguous())
print(x.numel(), x.nelement(), x.dim(), x.ndim, x.ndimension(), x.size(), x.size(0), x.size(-1), x.shape[1:], len(x), x.element_size(), x.nbytes, x.itemsize, x.is_floating_point(), x.layout, x.device, x.is_cuda, x.dtype, x.type(), x.is_sparse, x.is_leaf, x.names if False else 0, x.shape.numel(), x.size().numel(), x.shape == (2,3), x.shape == torch.Size([2,3]), list(x.shape), tuple(x.shape), x.shape + (1,), x.shape[0], isinstance(x.shape, tuple), torch.Size((1,2)), hash(x.shape) == hash((2,3)), torch.numel(x), x.is_contiguous(memory_format=torch.contiguous_format), x.stride(0), x.is_quantized, x.is_meta, x.is_complex(), x.is_signed(), x.get_device(), x.is_cpu, x.is_same_size(y), torch.is_tensor(x), torch.is_floating_point(x), torch.is_nonzero(torch.tensor(1)))
