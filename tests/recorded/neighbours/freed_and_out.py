# What a second backward finds freed, operator by operator; results written into out=
import torch

a=torch.ones(3); b=torch.arange(3.); c=torch.empty(3)
try: print(torch.add(a,b,out=c))
except Exception as e: print(type(e).__name__, e)

a=torch.ones(3); b=torch.arange(3.); c=torch.empty(3)
try: print((torch.add(a,b,out=c) is c, c))
except Exception as e: print(type(e).__name__, e)

a=torch.ones(3); b=torch.arange(3.); c=torch.empty(3)
try: print(torch.mul(a,2,out=c))
except Exception as e: print(type(e).__name__, e)

a=torch.ones(3); b=torch.arange(3.); c=torch.empty(3)
try: print((torch.add(a,b,out=c), c._version))
except Exception as e: print(type(e).__name__, e)

a=torch.ones(3); b=torch.arange(3.); c=torch.empty(3)
try: print(torch.exp(b,out=c))
except Exception as e: print(type(e).__name__, e)

a=torch.ones(3); b=torch.arange(3.); c=torch.empty(3)
try: print(torch.add(a,b,out=torch.empty(0)))
except Exception as e: print(type(e).__name__, e)

a=torch.ones(3); b=torch.arange(3.); c=torch.empty(3)
try: print(torch.add(a,b,out=torch.empty(3,dtype=torch.long)))
except Exception as e: print(type(e).__name__, e)

a=torch.ones(3); b=torch.arange(3.); c=torch.empty(3)
try: print(torch.add(a.long(),b.long(),out=torch.empty(3)))
except Exception as e: print(type(e).__name__, e)

a=torch.ones(3); b=torch.arange(3.); c=torch.empty(3)
try: print(torch.sum(b,dim=0,out=torch.empty(())))
except Exception as e: print(type(e).__name__, e)

a=torch.ones(3); b=torch.arange(3.); c=torch.empty(3)
try: print(torch.matmul(a,b,out=torch.empty(())))
except Exception as e: print(type(e).__name__, e)

a=torch.ones(3); b=torch.arange(3.); c=torch.empty(3)
try: print(torch.cat([a,b],out=torch.empty(6)))
except Exception as e: print(type(e).__name__, e)

a=torch.ones(3); b=torch.arange(3.); c=torch.empty(3)
try: print(torch.stack([a,b],out=torch.empty(0)))
except Exception as e: print(type(e).__name__, e)

a=torch.ones(3); b=torch.arange(3.); c=torch.empty(3)
try: print(torch.clamp(b,0,1,out=c))
except Exception as e: print(type(e).__name__, e)

a=torch.ones(3); b=torch.arange(3.); c=torch.empty(3)
try: print(torch.add(a.requires_grad_(),b,out=c))
except Exception as e: print(type(e).__name__, e)

a=torch.ones(3); b=torch.arange(3.); c=torch.empty(3)
try: print(torch.add(a,b,out=torch.ones(3,requires_grad=True)))
except Exception as e: print(type(e).__name__, e)

a=torch.ones(3); b=torch.arange(3.); c=torch.empty(3)
try: print(torch.arange(3,out=c))
except Exception as e: print(type(e).__name__, e)

a=torch.ones(3); b=torch.arange(3.); c=torch.empty(3)
try: print(torch.zeros(3,out=c))
except Exception as e: print(type(e).__name__, e)

a=torch.ones(3); b=torch.arange(3.); c=torch.empty(3)
try: print(torch.where(b>0,b,a,out=c))
except Exception as e: print(type(e).__name__, e)

a=torch.ones(3); b=torch.arange(3.); c=torch.empty(3)
try: print(torch.pow(b,2,out=c))
except Exception as e: print(type(e).__name__, e)

a=torch.ones(3); b=torch.arange(3.); c=torch.empty(3)
try: print(torch.div(b,2,out=c))
except Exception as e: print(type(e).__name__, e)

a=torch.ones(3); b=torch.arange(3.); c=torch.empty(3)
try: print(torch.add(a,b,alpha=2,out=c))
except Exception as e: print(type(e).__name__, e)

a=torch.ones(3); b=torch.arange(3.); c=torch.empty(3)
try: print(torch.linalg.norm(b,out=torch.empty(())))
except Exception as e: print(type(e).__name__, e)

a=torch.ones(3); b=torch.arange(3.); c=torch.empty(3)
try: print(torch.nonzero(b,out=torch.empty(0,dtype=torch.long)))
except Exception as e: print(type(e).__name__, e)

a=torch.ones(3,requires_grad=True); c=torch.empty(3)
with torch.no_grad(): torch.add(a,1,out=c)
print(c, c.requires_grad)

x = torch.tensor(3., requires_grad=True)
y = x*2; y.backward()
try: y.backward(); print('ok', x.grad)
except RuntimeError as e: print('ERR')

x = torch.tensor([3.], requires_grad=True)
y = x*2; y.backward()
try: y.backward(); print('ok', x.grad)
except RuntimeError as e: print('ERR')

x = torch.tensor([3.], requires_grad=True)
y = x/2; y.backward()
try: y.backward(); print('ok', x.grad)
except RuntimeError as e: print('ERR')

x = torch.tensor([3.], requires_grad=True)
y = 2*x; y.sum().backward()
try: y.sum().backward(); print('ok', x.grad)
except RuntimeError as e: print('ERR')

x = torch.tensor([3.], requires_grad=True)
y = (2*x).sum(); y.backward()
try: y.backward(); print('ok', x.grad)
except RuntimeError as e: print('ERR')

x = torch.tensor([3.], requires_grad=True)
y = (2*x+1).sum(); y.backward()
try: y.backward(); print('ok', x.grad)
except RuntimeError as e: print('ERR')

x = torch.tensor([3.,1.], requires_grad=True)
y = x*2; s = y.sum(); s.backward()
try: y.backward(torch.ones(2)); print('ok', x.grad)
except RuntimeError as e: print('ERR')

x = torch.tensor([3.,1.], requires_grad=True)
y = x*2; s = y.sum(); y.backward(torch.ones(2))
try: y.backward(torch.ones(2)); print('ok', x.grad)
except RuntimeError as e: print('ERR')

x = torch.tensor([3.,1.], requires_grad=True)
y = x*2; print(y.grad_fn._saved_other, y.grad_fn._saved_self); y.sum().backward()
try: print(y.grad_fn._saved_other, y.grad_fn._saved_self)
except RuntimeError as e: print(e)

x = torch.tensor([[1.,2.,0.5],[0.3,4.,0.25]], requires_grad=True)
i = torch.tensor([[0,1,0]]); l = torch.tensor([0,1]); m = x.detach() > 1
for n, f in [('idx', lambda: x[[0,1]]), ('idx t', lambda: x[l]), ('mask', lambda: x[m]), ('slice', lambda: x[0:1]), ('int', lambda: x[0]), ('gather', lambda: x.gather(0,i)), ('isel', lambda: x.index_select(0,l)), ('mfill', lambda: x.masked_fill(m,0.)), ('msel', lambda: x.masked_select(m)), ('mscat', lambda: x.masked_scatter(m,torch.ones(6))), ('take', lambda: x.take(l)), ('put', lambda: x.put(l,torch.ones(2))), ('iput', lambda: x.index_put((l,),torch.ones(2,3))), ('iadd', lambda: x.index_add(0,l,torch.ones(2,3))), ('iadds', lambda: torch.zeros(2,3).index_add(0,l,x)), ('ifill', lambda: x.index_fill(0,l,1.)), ('icopy', lambda: x.index_copy(0,l,torch.ones(2,3))), ('scat', lambda: x.scatter(0,i,torch.ones(1,3))), ('scatv', lambda: x.scatter(0,i,1.)), ('scata', lambda: x.scatter_add(0,i,torch.ones(1,3))), ('where', lambda: torch.where(m,x,0.)), ('sort', lambda: x.sort()[0]), ('topk', lambda: x.topk(2)[0]), ('maxd', lambda: x.max(0)[0]), ('max', lambda: x.max()), ('amax', lambda: x.amax(0)), ('kth', lambda: x.kthvalue(1)[0]), ('med', lambda: x.median()), ('medd', lambda: x.median(0)[0]), ('mode', lambda: x.mode(0)[0]), ('cummax', lambda: x.cummax(0)[0]), ('cumsum', lambda: x.cumsum(0)), ('cumprod', lambda: x.cumprod(0)), ('sum', lambda: x.sum()), ('mean', lambda: x.mean()), ('prod', lambda: x.prod()), ('std', lambda: x.std()), ('var', lambda: x.var(0)), ('norm', lambda: x.norm()), ('add', lambda: x+1), ('mul', lambda: x*2), ('mulx', lambda: x*x), ('div', lambda: x/2), ('divr', lambda: 2/x), ('pow2', lambda: x**2), ('pow1', lambda: x**1), ('pow0', lambda: x**0), ('neg', lambda: -x), ('abs', lambda: x.abs()), ('relu', lambda: x.relu()), ('clamp', lambda: x.clamp(0,1)), ('exp', lambda: x.exp()), ('round', lambda: x.round()), ('sign', lambda: x.sign()), ('floor', lambda: x.floor()), ('view', lambda: x.view(6)), ('t', lambda: x.t()), ('cat', lambda: torch.cat([x,x])), ('stack', lambda: torch.stack([x,x])), ('unbind', lambda: x.unbind()[0]), ('split', lambda: x.split(1)[0]), ('expand', lambda: x.expand(2,2,3)), ('repeat', lambda: x.repeat(2,1)), ('ri', lambda: x.repeat_interleave(2)), ('rit', lambda: x.repeat_interleave(l,0)), ('flip', lambda: x.flip(0)), ('roll', lambda: x.roll(1)), ('tril', lambda: x.tril()), ('diag', lambda: x.diag()), ('diagonal', lambda: x.diagonal()), ('trace', lambda: x[:,:2].trace()), ('clone', lambda: x.clone()), ('double', lambda: x.double()), ('softmax', lambda: x.softmax(0)), ('lse', lambda: x.logsumexp(0)), ('mm', lambda: x@x.t()), ('mmc', lambda: x@torch.ones(3,1)), ('outer', lambda: torch.outer(x[0],x[1])), ('dot', lambda: x[0].dot(x[1])), ('einsum', lambda: torch.einsum('ij->j',x)), ('maximum', lambda: torch.maximum(x,torch.ones(1))), ('lerp', lambda: torch.lerp(x,torch.ones(3),0.5)), ('lerpt', lambda: torch.lerp(x,torch.ones(3),torch.tensor(0.5))), ('addcmul', lambda: torch.addcmul(x,torch.ones(3),torch.ones(3))), ('addmm', lambda: torch.addmm(x,torch.ones(2,2),torch.ones(2,3))), ('emb', lambda: torch.nn.functional.embedding(l,x)), ('ce', lambda: torch.nn.functional.cross_entropy(x,torch.tensor([0,1]))), ('nll', lambda: torch.nn.functional.nll_loss(x,torch.tensor([0,1]))), ('mse', lambda: torch.nn.functional.mse_loss(x,torch.ones(2,3))), ('l1', lambda: torch.nn.functional.l1_loss(x,torch.ones(2,3))), ('pad', lambda: torch.nn.functional.pad(x,(1,1))), ('linear', lambda: torch.nn.functional.linear(x,torch.ones(1,3))), ('ln', lambda: torch.nn.functional.layer_norm(x,(3,))), ('leaky', lambda: torch.nn.functional.leaky_relu(x)), ('hardtanh', lambda: torch.nn.functional.hardtanh(x)), ('nan2num', lambda: x.nan_to_num()), ('unfold', lambda: x.unfold(1,2,1)), ('as_strided', lambda: x.as_strided((2,),(1,))), ('squeeze', lambda: x.squeeze()), ('cumsum2', lambda: x.cumsum(1)), ('fmod', lambda: x.fmod(2)), ('remainder', lambda: x.remainder(2)), ('atan2', lambda: torch.atan2(x,torch.ones(3))), ('hypot', lambda: torch.hypot(x,torch.ones(3))), ('sub', lambda: x-x), ('rsub', lambda: 1-x), ('sqrt', lambda: x.sqrt()), ('sigmoid', lambda: x.sigmoid()), ('tanh', lambda: x.tanh()), ('log', lambda: x.log()), ('square', lambda: x.square()), ('amin', lambda: x.amin()), ('aminmax', lambda: x.aminmax()[0]), ('count', lambda: x.count_nonzero()), ('dist', lambda: torch.dist(x,torch.ones(2,3))), ('cdist', lambda: torch.cdist(x,x)), ('cross', lambda: torch.cross(x,x+1,dim=1)), ('kron', lambda: torch.kron(x,x)), ('inv', lambda: torch.linalg.inv(x[:,:2])), ('det', lambda: torch.linalg.det(x[:,:2])), ('searchs', lambda: x.diff()), ('nansum', lambda: x.nansum()), ('logcumsumexp', lambda: x.logcumsumexp(0)), ('std_mean', lambda: torch.std_mean(x)[0]), ('renorm', lambda: x.renorm(2,0,1.)), ('tensordot', lambda: torch.tensordot(x,x)), ('bilinear', lambda: x.mul(3).add(1)), ('to', lambda: x.to(torch.float64)), ('contig', lambda: x.t().contiguous()), ('fill', lambda: torch.fill(x,2.)), ('gelu', lambda: torch.nn.functional.gelu(x)), ('silu', lambda: torch.nn.functional.silu(x)), ('softplus', lambda: torch.nn.functional.softplus(x)), ('normalize', lambda: torch.nn.functional.normalize(x)), ('msort', lambda: x.msort()), ('quantile', lambda: x.quantile(0.5)), ('select_scatter', lambda: x.select_scatter(torch.ones(3),0,0)), ('sr', lambda: x.scatter_reduce(0,i,torch.ones(1,3),'sum')), ('sr2', lambda: x.scatter_reduce(0,i,torch.ones(1,3),'amax')), ('movedim', lambda: x.movedim(0,1)), ('bmm', lambda: torch.bmm(x[None],x.t()[None])), ('mv', lambda: x.mv(torch.ones(3))), ('polygamma', lambda: x.lgamma()), ('erf', lambda: x.erf()), ('frac', lambda: x.frac()), ('heavi', lambda: torch.heaviside(x,torch.ones(1))), ('copysign', lambda: torch.copysign(x,torch.ones(1))), ('xlogy', lambda: torch.xlogy(x,x)), ('logaddexp', lambda: torch.logaddexp(x,x)), ('sinc', lambda: x.sinc()), ('deg2rad', lambda: x.deg2rad()), ('float_power', lambda: x.float_power(2)), ('addmv', lambda: torch.addmv(x[:,0],x,torch.ones(3))), ('addr', lambda: torch.addr(x,x[:,0],torch.ones(3))), ('baddbmm', lambda: torch.baddbmm(x[None],torch.ones(1,2,2),torch.ones(1,2,3)))]:
    try:
        y = f(); s = y.sum()
    except Exception as e: print(n, 'F', type(e).__name__, str(e)[:60]); continue
    fn = y.grad_fn
    try: s.backward(); s2 = None
    except Exception as e: print(n, 'B', type(e).__name__, str(e)[:60]); continue
    try:
        y.backward(torch.ones_like(y)); print(n, 'twice ok')
    except RuntimeError as e: print(n, str(e)[:40])
