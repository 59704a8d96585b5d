"""The classes of numpy's numbers, grids and indices; DataParallel on the CPU."""
import numpy as np, torch
a=np.array([1.5,2.]); n=np.array([1,2])
print([isinstance(v,k) for v in (a[0],n[0],np.float32(1),np.int32(1),1,1.0,a) for k in (np.float64,np.int64,np.float32,np.floating,np.integer,np.number,np.generic,np.ndarray,(np.integer,int),(float,int))])
print(np.issubdtype(a.dtype,np.floating), np.issubdtype(n.dtype,np.integer), np.issubdtype(np.float32,np.floating), np.issubdtype(n.dtype, np.int64))
x,y=np.mgrid[-1:1:0.5,0:2]; print(x,y, np.mgrid[0:3], np.ogrid[0:2,0:2], np.mgrid[0:n[1],0:2].shape)
print(np.unravel_index(5,(2,3)), np.ravel_multi_index((1,2),(2,3)), np.isscalar(1), np.isscalar(a[0]), np.isscalar(a), np.dstack([a,a]).shape, np.roots([1,-3,2]), np.take_along_axis(a, np.argsort(a), 0))
m=torch.nn.DataParallel(torch.nn.Linear(2,1)); print(m, m.module, list(m.state_dict()), m(torch.ones(1,2)).shape, isinstance(m, torch.nn.DataParallel))
print(np.integer, np.floating)
