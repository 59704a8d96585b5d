# Arguments that fit no signature: PyTorch's words for what is missing, too many, or of the wrong type
import torch

x = torch.ones(2, 2)
try: print(x.flip(0))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.roll(x,1))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.sum([0,'a']))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.sum('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.sum(1.5))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.view(2,'a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.reshape(2,1.5))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.permute(0,'a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.cat([x,3]))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.cat(3))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.stack([x,None]))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.add('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x+'a')
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x*[1])
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.mean('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.ones('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.ones(2,'a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.zeros(2.5))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.zeros((2,2.5)))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.sum(x,dim=(0,),keepdims=True))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.sum(x,axis=0))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.sum(foo=3))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.relu(3))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.exp(2.0))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.sqrt([1.]))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.max(3,4))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.max(x,'a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.max(1.0))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.matmul(x,2))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x@2)
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.mm(2))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.where(True,x,x))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.where(x))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.clamp('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.pow('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x**'a')
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.gather(0,[0]))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.index_select(0,[0]))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.transpose(0))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.transpose(0,1,2))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.transpose(0.,1))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.squeeze(1.))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.unsqueeze())
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.unsqueeze('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.expand('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.repeat(1.5))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.chunk(1.5))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.argmax('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.topk())
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.topk('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.std('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.norm('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.cumsum())
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.cumsum(0,1))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.softmax())
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.softmax(1.0))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.softmax(x))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.masked_fill(True,1))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.masked_fill(x>0))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.fill_())
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.fill_('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.add_())
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.add_('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.mul_('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.scatter_(0,1,2))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.requires_grad_('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.item(3))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.tolist(1))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.detach(1))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.clone(1))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.numel(1))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.size('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.dim(1))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.backward(1,2,3,4,5))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.copy_('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.arange())
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.arange('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.linspace(0,1))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.eye())
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.eye(2.5))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.full(2,1))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.full((2,)))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.tensor())
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.tensor(1,2))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.rand('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.randn())
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.manual_seed())
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.zeros_like(3))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.ones_like())
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.new_zeros())
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.dot(x,3))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.tril(x,'a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.diag('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.outer(x,2))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.lerp(x,x))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.addmm(x,x))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.addcmul(x,x))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.allclose(x,2))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.equal(x,2))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.isclose(x,'a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.isnan('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.numel('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.is_tensor())
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.sin(x,x))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.sin(input=x,foo=1))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.sin(x,input=x))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.sin(None))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.add(x,None))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.add(x))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.linalg.norm('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.linalg.inv(2))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.linalg.det())
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.linalg.solve(x))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.logsumexp(x))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.median(x,'a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.sort(x,'a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.flatten(x,'a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.unbind(x,'a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.movedim(x,0))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.swapaxes(x,0))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.cross(x))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.cdist(x))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.histc('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.nonzero('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.count_nonzero('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.bincount('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.var(x,'a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.prod(x,'a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.all(x,'a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.logical_and(x,'a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x&'a')
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(~3.5)
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(-x.bool())
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.bool()-x.bool())
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x//'a')
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x%'a')
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print('a'+x)
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print([1]*x)
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x<'a')
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x=='a')
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x!=None)
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.eq('a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.lt(None))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(abs('a') if False else 0)
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.register_hook())
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.retain_grad(1))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.set_printoptions(foo=1))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.broadcast_to(x,2))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.broadcast_tensors(x,2))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.meshgrid(2))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.chunk(x))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.split(x))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.take(x,[0]))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.bmm(x,2))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.T())
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.grad())
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.foo)
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.index_add_(0,1))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.index_fill_(0,1,2))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.clamp(x))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.clamp())
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.clamp(x,None,None))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.view())
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.view((2,2),1))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.reshape((2,2),1))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.permute((0,1),0))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.mean(dtype='a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.sum(dtype=3))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.sum(0,keepdim='a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.ones(2,dtype='a'))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.view(True))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.sum(True))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(x.cumsum(True))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.exp(x,x,x))
except Exception as e: print(type(e).__name__, e)

x = torch.ones(2, 2)
try: print(torch.ones())
except Exception as e: print(type(e).__name__, e)
