# Grad modes one inside the other, inference tensors, what dtypes hold
import torch

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); print(y, y.requires_grad, y.is_inference(), torch.is_inference_mode_enabled(), torch.is_grad_enabled(), x.is_inference())
    z.add_(1); v = x.view(2,1); print(v.is_inference(), v.requires_grad)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    w = torch.ones(1, requires_grad=True); print(w.requires_grad, w.is_inference())
    with torch.enable_grad(): print((x*2).requires_grad)
    with torch.inference_mode(False): print((x*2).requires_grad, torch.is_grad_enabled())

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print((y*x).sum().backward())
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(y.requires_grad_())
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(y.add_(1))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print((x+y).sum().backward())
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(x*y)
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(y._version)
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(z.mul_(x))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(v.add_(1))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(y.clone().requires_grad_())
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(y*2)
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print((y*2).is_inference())
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(y.view(2,1))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(y.view(2,1).is_inference())
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(y.detach().is_inference())
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(x.copy_(y))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(y[0])
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(y.sum().backward())
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(y.data)
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(setattr(y,'requires_grad',True))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(torch.autograd.grad(y.sum(), x))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(w.add(1).sum().backward())
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print((w*x).sum().backward())
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(torch.nn.Parameter(y))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(y.zero_())
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(y.clone().is_inference())
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(y.requires_grad_(False))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(y.numpy())
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(y.tolist())
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(y.grad)
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(y.is_leaf)
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(y.grad_fn)
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(y.retain_grad())
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.inference_mode():
    y = x*2; z = torch.ones(2); v = x.view(2,1); w = torch.ones(1, requires_grad=True)
try: print(y.register_hook(print))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
p = torch.is_grad_enabled(); torch.set_grad_enabled(False); print((x*2).requires_grad); torch.set_grad_enabled(True)
with torch.set_grad_enabled(False): print((x*2).requires_grad, torch.is_grad_enabled())
for flag in (True, False):
    with torch.set_grad_enabled(flag): y = x*2
    print(flag, y.requires_grad, y.is_leaf, y.grad_fn)
@torch.set_grad_enabled(False)
def f(t): return t*2
print(f(x)); print(torch.is_grad_enabled())
with torch.no_grad():
    with torch.enable_grad(): a = x*3
    b = x*3; a2 = a*2
    try: a.sum().backward(); print(x.grad)
    except RuntimeError as e: print(e)
print(a2.requires_grad, b.requires_grad)
try:
    with torch.no_grad(): raise ValueError('x')
except ValueError: print(torch.is_grad_enabled())
ng = torch.no_grad()
with ng: print((x+1).requires_grad)
with ng: print((x+1).requires_grad)
class M:
    @torch.no_grad()
    def g(self, t): return t+1
print(M().g(x), torch.no_grad(), torch.enable_grad(), torch.set_grad_enabled(True), torch.inference_mode())
with torch.no_grad() as q: print(q)
try: torch.set_grad_enabled('a'); print(torch.is_grad_enabled())
except Exception as e: print(type(e).__name__, e)
try: torch.set_grad_enabled()
except Exception as e: print(type(e).__name__, e)
try: torch.no_grad(1, 2)
except Exception as e: print(type(e).__name__, e)
print(torch.no_grad(lambda t: t*2)(x), torch.enable_grad(lambda t: t*2)(x), torch.inference_mode(lambda t: t*2)(x))

x = torch.tensor([1.,2.], requires_grad=True)
with torch.no_grad():
    y = x*1; y.requires_grad_(); z = x.view(2); x.requires_grad_(False); print(x.requires_grad); x.requires_grad_(True)
    x[0] = 5; x += 1; x.data[1] = 7; print(x, x._version, x.grad_fn)
    d = x.clone(); c = x.detach(); t = x.to(torch.float64); print(d.requires_grad, t.requires_grad, torch.zeros_like(x).requires_grad, x.T.requires_grad, x.reshape(2) is x, x.float().requires_grad, x.float() is x)
    l = torch.stack([x,x]); a,b = x; print(l, a, x[0], x.unbind()[0].requires_grad)
    try: torch.autograd.grad((x*2).sum(), x)
    except RuntimeError as e: print(e)
    w = torch.zeros(2); w.copy_(x); print(w.requires_grad); w += x; print(w)
print(y.is_leaf, y.requires_grad)
y.sum().backward(); print(y.grad)

x = torch.tensor([1.,2.], requires_grad=True)
y = x*2
with torch.no_grad(): y.mul_(5); y[0]=1; v = y[:1]; v.zero_()
print(y, y._version); y.sum().backward(); print(x.grad)
try: v.add_(1)
except RuntimeError as e: print(e)
e = x.exp()
with torch.no_grad(): e.mul_(2)
try: e.sum().backward()
except RuntimeError as er: print(er)
with torch.no_grad(): a, b = (x*2).unbind()
try: a.add_(1); print(a)
except RuntimeError as er: print(er)
s = (x*2).unbind()
try: s[0].add_(1)
except RuntimeError as er: print(er)

x = torch.tensor([1.,2.], requires_grad=True)
with torch.autograd.set_grad_enabled(False): print((x*1).requires_grad)
with torch.autograd.no_grad(): print((x*1).requires_grad)
with torch.autograd.enable_grad(): print((x*1).requires_grad)
with torch.autograd.inference_mode(): print((x*1).requires_grad)
with torch.autograd.grad_mode.no_grad(): print((x*1).requires_grad)

x = torch.tensor(2., requires_grad=True)
with torch.no_grad():
    y = x ** 2
    print(y.requires_grad, y.grad_fn, y.is_leaf, torch.is_grad_enabled())
    with torch.enable_grad():
        z = x ** 3
        print(z.requires_grad, z.grad_fn, torch.is_grad_enabled())
    print(torch.is_grad_enabled())
    with torch.set_grad_enabled(True): q = x*2
    print(q)
w = y * z; w.backward(); print(x.grad)
try: y.backward()
except RuntimeError as e: print(e)

@torch.no_grad()
def f(a): return a*2, torch.is_grad_enabled()
@torch.enable_grad()
def g(a): return a*2, torch.is_grad_enabled()
@torch.inference_mode()
def h(a): return a*2, torch.is_inference_mode_enabled()
@torch.no_grad
def k(a): "doc"; return a*3
x = torch.ones(2, requires_grad=True)
print(f(x), g(x), h(x), k(x), k.__name__, k.__doc__, f.__name__)
with torch.no_grad(): print(f(x), g(x))
@torch.no_grad()
class C:
    def __init__(self, t): self.t = t*2
print(C(x).t)

x = torch.ones(2, requires_grad=True)
opt_state = [p.requires_grad for p in [x]]
with torch.no_grad():
    x.sub_(0.1 * torch.ones(2)); x.grad = torch.ones(2); x.grad.zero_(); print(x, x.grad, x.is_leaf)
    y = torch.nn.functional.relu(x); print(y, y.is_leaf, y.requires_grad); z = y.requires_grad_(); print(z.is_leaf, z.requires_grad)
    p = torch.nn.Parameter(torch.ones(1)); print(p.requires_grad, (p*2).requires_grad)
    t = torch.tensor([1.], requires_grad=True); u = torch.randn(2, requires_grad=True); print(t.requires_grad, u.requires_grad)
    def inner(): return torch.is_grad_enabled()
    print(inner(), torch.is_grad_enabled())
print(torch.is_grad_enabled()); print(z); (z*2).sum().backward(); print(z.grad)

try: print(torch.finfo(torch.float32))
except Exception as e: print(type(e).__name__, e)

try: print(torch.finfo(torch.float64))
except Exception as e: print(type(e).__name__, e)

try: print(torch.finfo(torch.float16))
except Exception as e: print(type(e).__name__, e)

try: print(torch.finfo())
except Exception as e: print(type(e).__name__, e)

try: print(torch.iinfo(torch.int64))
except Exception as e: print(type(e).__name__, e)

try: print(torch.iinfo(torch.int8))
except Exception as e: print(type(e).__name__, e)

try: print(torch.iinfo(torch.uint8).min)
except Exception as e: print(type(e).__name__, e)

try: print(torch.finfo(torch.float32).eps)
except Exception as e: print(type(e).__name__, e)

try: print(torch.finfo(torch.float32).bits)
except Exception as e: print(type(e).__name__, e)

try: print(torch.finfo(torch.float32).dtype)
except Exception as e: print(type(e).__name__, e)

try: print(torch.finfo(torch.int32))
except Exception as e: print(type(e).__name__, e)

try: print(torch.iinfo(torch.float32))
except Exception as e: print(type(e).__name__, e)

try: print(torch.finfo('a'))
except Exception as e: print(type(e).__name__, e)

try: print(torch.iinfo(torch.bool))
except Exception as e: print(type(e).__name__, e)

try: print(torch.finfo(torch.float32).tiny)
except Exception as e: print(type(e).__name__, e)

try: print(torch.finfo(torch.float32).resolution)
except Exception as e: print(type(e).__name__, e)

x=torch.ones(2,requires_grad=True)
try: print(setattr(x,'grad',torch.ones(2).long()))
except Exception as e: print(type(e).__name__, e)

x=torch.ones(2,requires_grad=True)
try: print(setattr(x,'grad',torch.ones(2).short()))
except Exception as e: print(type(e).__name__, e)

x=torch.ones(2,requires_grad=True)
try: print(setattr(x,'grad',torch.ones(2).double()))
except Exception as e: print(type(e).__name__, e)

x=torch.ones(2,requires_grad=True)
try: print(torch.ones(2).set_(torch.ones(2).long()))
except Exception as e: print(type(e).__name__, e)

x=torch.ones(2,requires_grad=True)
try: print(torch.can_cast(torch.int8,torch.uint8))
except Exception as e: print(type(e).__name__, e)

x=torch.ones(2,requires_grad=True)
try: print(torch.can_cast(torch.float,torch.int))
except Exception as e: print(type(e).__name__, e)

x=torch.ones(2,requires_grad=True)
try: print(torch.can_cast(torch.int64,torch.int8))
except Exception as e: print(type(e).__name__, e)

x=torch.ones(2,requires_grad=True)
try: print(torch.can_cast(torch.uint8,torch.int8))
except Exception as e: print(type(e).__name__, e)

x=torch.ones(2,requires_grad=True)
try: print(torch.can_cast(torch.double,torch.half))
except Exception as e: print(type(e).__name__, e)

x=torch.ones(2,requires_grad=True)
try: print(torch.result_type(torch.tensor([1]),1.5))
except Exception as e: print(type(e).__name__, e)

x=torch.ones(2,requires_grad=True)
try: print(torch.result_type(torch.tensor(1),torch.tensor([1.])))
except Exception as e: print(type(e).__name__, e)

x=torch.ones(2,requires_grad=True)
try: print(torch.result_type(1,2.))
except Exception as e: print(type(e).__name__, e)

x=torch.ones(2,requires_grad=True)
try: print(torch.promote_types(torch.uint8,torch.int8))
except Exception as e: print(type(e).__name__, e)

x=torch.ones(2,requires_grad=True)
try: print(torch.promote_types(torch.int64,torch.float16))
except Exception as e: print(type(e).__name__, e)

x=torch.ones(2,requires_grad=True)
try: print(~torch.ones(2))
except Exception as e: print(type(e).__name__, e)

x=torch.ones(2,requires_grad=True)
try: print(~torch.tensor([1,2]))
except Exception as e: print(type(e).__name__, e)

x=torch.ones(2,requires_grad=True)
try: print(torch.bitwise_not(torch.ones(2)))
except Exception as e: print(type(e).__name__, e)

x=torch.ones(2,requires_grad=True)
try: print(torch.frac(torch.tensor([1])))
except Exception as e: print(type(e).__name__, e)

x=torch.ones(2,requires_grad=True)
try: print(torch.ones(2)&1)
except Exception as e: print(type(e).__name__, e)

x=torch.ones(2,requires_grad=True)
try: print(torch.ones(2,dtype=torch.int)<<torch.ones(2))
except Exception as e: print(type(e).__name__, e)
