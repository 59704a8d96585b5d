"""Arrays of numpy as the index of a tensor: integers of each dtype, masks, numbers, assignments."""
import torch, numpy as np
t=torch.arange(12.).reshape(3,4)
m=np.array([[True,False,True,False]]*3); b=np.array([True,False,True]); i=np.array([2,0]); u=np.array([1,2],dtype=np.uint8)
print(t[m], t[b], t[i], t[i,1:], t[:,i], t[b][:,i], t[torch.tensor([0]),i[:1]], t[i][0], t[np.array(1)], t[np.int32(1)])
x=t.clone(); x[m]=0; print(x); x[i]=torch.ones(2,4); print(x); x[:,i]+=1; print(x)
t.requires_grad_(); t[i].sum().backward(); print(t.grad)
try: t[np.array([1.5])]
except IndexError as e: print(e)
try: t[np.array([7])]
except IndexError as e: print(e)
