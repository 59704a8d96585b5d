# Hooks of leaves, of results, of nodes, of modules: order, removal, what they may return
import torch

x = torch.tensor([1.,2.,3.], requires_grad=True); log=[]
h1 = x.register_hook(lambda g: log.append(('a', g.tolist()))); h2 = x.register_hook(lambda g: g*2); h3 = x.register_hook(lambda g: log.append(('c', g.tolist())))
(x**2).sum().backward(); print(log, x.grad); h2.remove(); x.grad=None; log.clear(); (x**2).sum().backward(); print(log, x.grad)
h1.remove(); h1.remove(); h3.remove(); print(x._backward_hooks)

x = torch.tensor([1.,2.], requires_grad=True)
y = x*2; z = y**2; order=[]
y.register_hook(lambda g: order.append(('y',g))); z.register_hook(lambda g: order.append(('z',g))); x.register_hook(lambda g: order.append(('x',g)))
y.retain_grad(); z.sum().backward(); print(order, y.grad, x.grad)

x = torch.tensor([1.,2.], requires_grad=True)
try: print(x.register_hook(lambda g: g.sum()))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
try: print(x.register_hook(lambda g: 'a'))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
try: print(x.register_hook(lambda g: g.double()))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
try: print(x.register_hook(lambda g: None))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
try: print(x.register_hook(lambda g: torch.zeros(3)))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
try: print(x.register_hook(lambda g: g.long()))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
try: print(x.register_hook(lambda g: g.unsqueeze(0)))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
try: print(x.register_hook(lambda: None))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
try: print(x.register_hook(3))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
def f1():
    x.register_hook(lambda g: g.sum()); (x*2).sum().backward()
def f2():
    x.register_hook(lambda g: 1/0); (x*2).sum().backward()
for f in [f1, f2]:
    x = torch.tensor([1.,2.], requires_grad=True)
    try: f(); print(x.grad)
    except Exception as e: print(type(e).__name__, e)

x = torch.tensor(2., requires_grad=True)
y = x**2
def pre(gs): print('pre', gs); return tuple(g*2 for g in gs)
def post(gi, go): print('post', gi, go); return tuple(g*10 if g is not None else None for g in gi)
a = y.grad_fn.register_prehook(pre); b = y.grad_fn.register_hook(post)
y.backward(); print(x.grad); a.remove(); b.remove()
z = x*3; z.grad_fn.register_hook(lambda gi, go: print(len(gi), gi, go)); z.backward()

x = torch.tensor([1.,2.], requires_grad=True); w = torch.tensor([3.,4.], requires_grad=True)
y = x*w; y.grad_fn.register_hook(lambda gi, go: print('mul', gi, go)); s = y.sum(); s.grad_fn.register_hook(lambda gi, go: print('sum', gi, go)); s.backward()
acc = x.expand_as(x).grad_fn.next_functions[0][0]; acc.register_hook(lambda *a: print('acc', a)); print(acc.name(), acc.variable is x); (x*1).sum().backward()

p = torch.tensor([1.,2.], requires_grad=True); n=[]
h = p.register_post_accumulate_grad_hook(lambda t: (n.append(t.grad.clone()), t.grad.zero_())[0]); (p*2).sum().backward(); (p*3).sum().backward(); print(n, p.grad); h.remove()
try: (p*2).register_post_accumulate_grad_hook(print)
except RuntimeError as e: print(e)
try: p.detach().register_post_accumulate_grad_hook(print)
except RuntimeError as e: print(e)

x = torch.tensor([1.,2.], requires_grad=True)
y = x*2
y.register_hook(lambda g: g*5); y2 = y.clone(); y.mul_(3)
y.register_hook(lambda g: print('after', g)); (y.sum()+y2.sum()).backward(); print(x.grad)

x = torch.ones(2, requires_grad=True); total=[]
def clip(g): return g.clamp(-1,1)
x.register_hook(clip); (x*torch.tensor([5.,0.5])).sum().backward(); print(x.grad)
with torch.no_grad():
    try: x.detach().register_hook(print)
    except RuntimeError as e: print(e)
torch.autograd.grad((x*3).sum(), x); g, = torch.autograd.grad((x*3).sum(), x); print(g)
y = x*2; y.register_hook(lambda g: print('y', g)); g, = torch.autograd.grad(y.sum(), y); print(g)

net = torch.nn.Sequential(torch.nn.Linear(2,2), torch.nn.ReLU()); [p.data.fill_(0.5) for p in net.parameters()]
hs=[net[0].register_forward_hook(lambda m,i,o: print('f', type(m).__name__, i[0].shape, o.shape)), net[0].register_forward_pre_hook(lambda m,i: print('p', len(i))), net[1].register_full_backward_hook(lambda m,gi,go: print('b', gi, go)), net.register_forward_hook(lambda m,i,o: o*2)]
out = net(torch.ones(1,2)); print(out); out.sum().backward(); print(net[0].weight.grad)
for h in hs: h.remove()
print(net(torch.ones(1,2)))

x = torch.tensor(3., requires_grad=True)
g, = torch.autograd.grad(x**3, x, create_graph=True); g.register_hook(lambda t: print('gg', t)); g.backward(); print(x.grad)
x.grad=None; h=x.register_hook(lambda t: t+1); (x*x).backward(); (x*x).backward(); print(x.grad); 
with h: print('in')
x.grad=None; (x*x).backward(); print(x.grad)
