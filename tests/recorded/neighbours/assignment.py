# Assignment to items
import torch

x=torch.zeros(3); x[0]=2; x[1]=2.7; print(x)
i=torch.zeros(3,dtype=torch.int64); i[0]=2.7; i[1]=True; print(i)
b=torch.zeros(2).bool(); b[0]=1; print(b)
y=torch.ones(3,requires_grad=True)*1; y[0]=5.; print(y, y.grad_fn.next_functions, y.grad_fn.name()); y.sum().backward()
y=torch.ones(3,requires_grad=True)*1; y[1:]=5.; y[y>2]=7; print(y)
w=torch.tensor(3.,requires_grad=True); z=torch.zeros(3); z[0]=w; z[1:]=w*2; z.sum().backward(); print(w.grad, z)
try: torch.ones(3,requires_grad=True)[0]=1
except RuntimeError as e: print(e)
