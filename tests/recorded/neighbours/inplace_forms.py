# In-place forms, on results, views, leaves and plain tensors, and what they do to the graph
import torch

x = torch.tensor([1.,2.,3.], requires_grad=True)
try: print(x.add_(1))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.,3.], requires_grad=True)
try: print(x.zero_())
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.,3.], requires_grad=True)
try: print(x.__setitem__(0,1.))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.,3.], requires_grad=True)
try: print(x[0].add_(1))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.,3.], requires_grad=True)
try: print(x.view(3).mul_(2))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.,3.], requires_grad=True)
try: print(x.__iadd__(1))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.,3.], requires_grad=True)
try: print(x.exp_())
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.,3.], requires_grad=True)
try: print(x.copy_(torch.ones(3)))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.,3.], requires_grad=True)
try: print(x.detach().zero_())
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.,3.], requires_grad=True)
try: print(x.data.fill_(7))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.,3.], requires_grad=True)
try: print(x.unsqueeze_(0))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.,3.], requires_grad=True)
try: print(x.relu_())
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.,3.], requires_grad=True)
try: print(torch.nn.functional.relu(x, inplace=True))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.,3.], requires_grad=True)
try: print(x.uniform_())
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.,3.], requires_grad=True)
try: print(x.masked_fill_(x>0,1.))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.,3.], requires_grad=True)
try: print(x.clamp_(0))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.,3.], requires_grad=True)
try: print(torch.nn.init.zeros_(x))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.,3.], requires_grad=True)
try: print(x.grad)
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.,3.], requires_grad=True)
try: print((x, x._version))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.,3.], requires_grad=True)
try: print(x.detach_())
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.,3.], requires_grad=True)
try: print(x.requires_grad_(False))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.,3.], requires_grad=True)
y = x.exp(); y.add_(1)
try: y.sum().backward()
except RuntimeError as e: print(e)
y = x.exp(); z = y*2; y.mul_(2)
try: z.sum().backward(); print(x.grad)
except RuntimeError as e: print(e)
a = x*2; b = a*a; a.add_(1)
try: b.sum().backward()
except RuntimeError as e: print(e)
a = x*2; b = a+1; a.mul_(3); b.sum().backward(); print(x.grad)
w = torch.ones(3, requires_grad=True); l = (w*x.detach()).sum()
with torch.no_grad(): w -= 0.1
try: l.backward(); print(w.grad)
except RuntimeError as e: print(e)
l = (w**2).sum()
with torch.no_grad(): w -= 0.1
try: l.backward()
except RuntimeError as e: print(e)
l = (w**2).sum(); w.data -= 0.1; l.backward(); print(w.grad, w._version)

x = torch.arange(6.).reshape(2,3).requires_grad_(); y = x*1
r = y[0]; r.mul_(10); print(y, r, y.grad_fn.name(), r.grad_fn.name()); c = y[:,1]; c += 100; print(y, r); y.sum().backward(); print(x.grad)
x.grad=None; y = x*1; v=y.view(-1); v[2:4] = 0; y.t()[0] = 5.; print(y, v, v.grad_fn.name()); y.prod().backward(); print(x.grad)
x.grad=None; y = x*1; y[y>2] *= 2; y[:, 0].fill_(1.); y.diagonal().zero_(); print(y, y._version); (y*x.detach()).sum().backward(); print(x.grad)
x.grad=None; y = x*1; a,b = y[0], y[1]; a.copy_(b); b.add_(a); print(y, a, b); y.sum().backward(); print(x.grad)

a = torch.ones(2,3); b=a; a += 1; print(b, a is b, a._version); a = a+1; print(b, a); c=a[0]; c*=5; print(a, a._version, c._version); d=a.clone(); d.zero_(); print(a.sum(), d._version); e=a.detach(); e[0,0]=-1; print(a[0,0], a._version, e._version); f=a.data; f[0,1]=-2; print(a, a._version, f._version); n=a.numpy(); n[1,1]=77; print(a[1,1]); t=torch.from_numpy(n); t.mul_(2); print(a, n[0])
i = torch.tensor([1,2]); 
for g in ['i += 1.5', 'i /= 2', 'i *= 2', 'i //= 2', 'i **= 2', 'i %= 2', 'i -= 1']: print(g)
try: print(i.__iadd__(1.5))
except Exception as e: print(type(e).__name__, e)

a = torch.ones(2,3); b=a; a += 1; print(b, a is b, a._version); a = a+1; print(b, a); c=a[0]; c*=5; print(a, a._version, c._version); d=a.clone(); d.zero_(); print(a.sum(), d._version); e=a.detach(); e[0,0]=-1; print(a[0,0], a._version, e._version); f=a.data; f[0,1]=-2; print(a, a._version, f._version); n=a.numpy(); n[1,1]=77; print(a[1,1]); t=torch.from_numpy(n); t.mul_(2); print(a, n[0])
i = torch.tensor([1,2]); 
for g in ['i += 1.5', 'i /= 2', 'i *= 2', 'i //= 2', 'i **= 2', 'i %= 2', 'i -= 1']: print(g)
try: print(i.__itruediv__(2))
except Exception as e: print(type(e).__name__, e)

a = torch.ones(2,3); b=a; a += 1; print(b, a is b, a._version); a = a+1; print(b, a); c=a[0]; c*=5; print(a, a._version, c._version); d=a.clone(); d.zero_(); print(a.sum(), d._version); e=a.detach(); e[0,0]=-1; print(a[0,0], a._version, e._version); f=a.data; f[0,1]=-2; print(a, a._version, f._version); n=a.numpy(); n[1,1]=77; print(a[1,1]); t=torch.from_numpy(n); t.mul_(2); print(a, n[0])
i = torch.tensor([1,2]); 
for g in ['i += 1.5', 'i /= 2', 'i *= 2', 'i //= 2', 'i **= 2', 'i %= 2', 'i -= 1']: print(g)
try: print(i.add_(torch.tensor([1.])))
except Exception as e: print(type(e).__name__, e)

a = torch.ones(2,3); b=a; a += 1; print(b, a is b, a._version); a = a+1; print(b, a); c=a[0]; c*=5; print(a, a._version, c._version); d=a.clone(); d.zero_(); print(a.sum(), d._version); e=a.detach(); e[0,0]=-1; print(a[0,0], a._version, e._version); f=a.data; f[0,1]=-2; print(a, a._version, f._version); n=a.numpy(); n[1,1]=77; print(a[1,1]); t=torch.from_numpy(n); t.mul_(2); print(a, n[0])
i = torch.tensor([1,2]); 
for g in ['i += 1.5', 'i /= 2', 'i *= 2', 'i //= 2', 'i **= 2', 'i %= 2', 'i -= 1']: print(g)
try: print(i.mul_(2))
except Exception as e: print(type(e).__name__, e)

a = torch.ones(2,3); b=a; a += 1; print(b, a is b, a._version); a = a+1; print(b, a); c=a[0]; c*=5; print(a, a._version, c._version); d=a.clone(); d.zero_(); print(a.sum(), d._version); e=a.detach(); e[0,0]=-1; print(a[0,0], a._version, e._version); f=a.data; f[0,1]=-2; print(a, a._version, f._version); n=a.numpy(); n[1,1]=77; print(a[1,1]); t=torch.from_numpy(n); t.mul_(2); print(a, n[0])
i = torch.tensor([1,2]); 
for g in ['i += 1.5', 'i /= 2', 'i *= 2', 'i //= 2', 'i **= 2', 'i %= 2', 'i -= 1']: print(g)
try: print(i.add_(True))
except Exception as e: print(type(e).__name__, e)

a = torch.ones(2,3); b=a; a += 1; print(b, a is b, a._version); a = a+1; print(b, a); c=a[0]; c*=5; print(a, a._version, c._version); d=a.clone(); d.zero_(); print(a.sum(), d._version); e=a.detach(); e[0,0]=-1; print(a[0,0], a._version, e._version); f=a.data; f[0,1]=-2; print(a, a._version, f._version); n=a.numpy(); n[1,1]=77; print(a[1,1]); t=torch.from_numpy(n); t.mul_(2); print(a, n[0])
i = torch.tensor([1,2]); 
for g in ['i += 1.5', 'i /= 2', 'i *= 2', 'i //= 2', 'i **= 2', 'i %= 2', 'i -= 1']: print(g)
try: print(i.copy_(torch.tensor([1.7,2.7])))
except Exception as e: print(type(e).__name__, e)

a = torch.ones(2,3); b=a; a += 1; print(b, a is b, a._version); a = a+1; print(b, a); c=a[0]; c*=5; print(a, a._version, c._version); d=a.clone(); d.zero_(); print(a.sum(), d._version); e=a.detach(); e[0,0]=-1; print(a[0,0], a._version, e._version); f=a.data; f[0,1]=-2; print(a, a._version, f._version); n=a.numpy(); n[1,1]=77; print(a[1,1]); t=torch.from_numpy(n); t.mul_(2); print(a, n[0])
i = torch.tensor([1,2]); 
for g in ['i += 1.5', 'i /= 2', 'i *= 2', 'i //= 2', 'i **= 2', 'i %= 2', 'i -= 1']: print(g)
try: print(i.fill_(3.9))
except Exception as e: print(type(e).__name__, e)

a = torch.ones(2,3); b=a; a += 1; print(b, a is b, a._version); a = a+1; print(b, a); c=a[0]; c*=5; print(a, a._version, c._version); d=a.clone(); d.zero_(); print(a.sum(), d._version); e=a.detach(); e[0,0]=-1; print(a[0,0], a._version, e._version); f=a.data; f[0,1]=-2; print(a, a._version, f._version); n=a.numpy(); n[1,1]=77; print(a[1,1]); t=torch.from_numpy(n); t.mul_(2); print(a, n[0])
i = torch.tensor([1,2]); 
for g in ['i += 1.5', 'i /= 2', 'i *= 2', 'i //= 2', 'i **= 2', 'i %= 2', 'i -= 1']: print(g)
try: print(i.add_(torch.ones(3,dtype=torch.long)))
except Exception as e: print(type(e).__name__, e)

a = torch.ones(2,3); b=a; a += 1; print(b, a is b, a._version); a = a+1; print(b, a); c=a[0]; c*=5; print(a, a._version, c._version); d=a.clone(); d.zero_(); print(a.sum(), d._version); e=a.detach(); e[0,0]=-1; print(a[0,0], a._version, e._version); f=a.data; f[0,1]=-2; print(a, a._version, f._version); n=a.numpy(); n[1,1]=77; print(a[1,1]); t=torch.from_numpy(n); t.mul_(2); print(a, n[0])
i = torch.tensor([1,2]); 
for g in ['i += 1.5', 'i /= 2', 'i *= 2', 'i //= 2', 'i **= 2', 'i %= 2', 'i -= 1']: print(g)
try: print(i.sub_(torch.ones(2,2,dtype=torch.long)))
except Exception as e: print(type(e).__name__, e)

a = torch.ones(2,3); b=a; a += 1; print(b, a is b, a._version); a = a+1; print(b, a); c=a[0]; c*=5; print(a, a._version, c._version); d=a.clone(); d.zero_(); print(a.sum(), d._version); e=a.detach(); e[0,0]=-1; print(a[0,0], a._version, e._version); f=a.data; f[0,1]=-2; print(a, a._version, f._version); n=a.numpy(); n[1,1]=77; print(a[1,1]); t=torch.from_numpy(n); t.mul_(2); print(a, n[0])
i = torch.tensor([1,2]); 
for g in ['i += 1.5', 'i /= 2', 'i *= 2', 'i //= 2', 'i **= 2', 'i %= 2', 'i -= 1']: print(g)
try: print(torch.tensor([True]).add_(1))
except Exception as e: print(type(e).__name__, e)

a = torch.ones(2,3); b=a; a += 1; print(b, a is b, a._version); a = a+1; print(b, a); c=a[0]; c*=5; print(a, a._version, c._version); d=a.clone(); d.zero_(); print(a.sum(), d._version); e=a.detach(); e[0,0]=-1; print(a[0,0], a._version, e._version); f=a.data; f[0,1]=-2; print(a, a._version, f._version); n=a.numpy(); n[1,1]=77; print(a[1,1]); t=torch.from_numpy(n); t.mul_(2); print(a, n[0])
i = torch.tensor([1,2]); 
for g in ['i += 1.5', 'i /= 2', 'i *= 2', 'i //= 2', 'i **= 2', 'i %= 2', 'i -= 1']: print(g)
try: print(torch.tensor([True,False]).logical_and_(torch.tensor([True,True])))
except Exception as e: print(type(e).__name__, e)

a = torch.ones(2,3); b=a; a += 1; print(b, a is b, a._version); a = a+1; print(b, a); c=a[0]; c*=5; print(a, a._version, c._version); d=a.clone(); d.zero_(); print(a.sum(), d._version); e=a.detach(); e[0,0]=-1; print(a[0,0], a._version, e._version); f=a.data; f[0,1]=-2; print(a, a._version, f._version); n=a.numpy(); n[1,1]=77; print(a[1,1]); t=torch.from_numpy(n); t.mul_(2); print(a, n[0])
i = torch.tensor([1,2]); 
for g in ['i += 1.5', 'i /= 2', 'i *= 2', 'i //= 2', 'i **= 2', 'i %= 2', 'i -= 1']: print(g)
try: print(torch.ones(2).add_(torch.ones(2,dtype=torch.double)))
except Exception as e: print(type(e).__name__, e)

a = torch.ones(2,3); b=a; a += 1; print(b, a is b, a._version); a = a+1; print(b, a); c=a[0]; c*=5; print(a, a._version, c._version); d=a.clone(); d.zero_(); print(a.sum(), d._version); e=a.detach(); e[0,0]=-1; print(a[0,0], a._version, e._version); f=a.data; f[0,1]=-2; print(a, a._version, f._version); n=a.numpy(); n[1,1]=77; print(a[1,1]); t=torch.from_numpy(n); t.mul_(2); print(a, n[0])
i = torch.tensor([1,2]); 
for g in ['i += 1.5', 'i /= 2', 'i *= 2', 'i //= 2', 'i **= 2', 'i %= 2', 'i -= 1']: print(g)
try: print(torch.ones(1).add_(torch.ones(3)))
except Exception as e: print(type(e).__name__, e)

x = torch.tensor([1.,2.], requires_grad=True)
y = x*2; v = y._version; y.detach().mul_(3); print(y, y._version); 
try: (y*y).sum().backward(); print(x.grad)
except RuntimeError as e: print(e)
z = y**2; y.detach().zero_()
try: z.sum().backward()
except RuntimeError as e: print(e)
q = x*2; s = q**2; q.data.zero_(); s.sum().backward(); print(x.grad)
u = x.clone(); u[0] = u[1]; u[1] = u[0]*2; print(u); u.sum().backward(); print(x.grad)
k = torch.zeros(2); k += x; print(k, k.requires_grad, k.is_leaf, k.grad_fn.name()); k = k*1; k[0] = 3; k.sum().backward(); print(x.grad)
m = torch.zeros(3,2); m[1] = x; print(m, m.requires_grad, m[0].requires_grad); m.sum().backward(); print(x.grad)
o = torch.zeros(2, requires_grad=True)
try: o[0] = x[0]
except RuntimeError as e: print(e)

x = torch.tensor([1.,2.], requires_grad=True)
w = x*1; w.retain_grad(); w.mul_(2); w.sum().backward(); print(w.grad, x.grad)
b = x.sigmoid(); c = b.mul_(2); print(c is b)
try: c.sum().backward()
except RuntimeError as e: print(e)
r = torch.relu(x); r.mul_(3)
try: r.sum().backward(); print(x.grad)
except RuntimeError as e: print(e)
d = (x*3).detach_(); print(d, d.requires_grad, d.is_leaf); e = x.view(2,1)
try: e.detach_()
except RuntimeError as er: print(er)
