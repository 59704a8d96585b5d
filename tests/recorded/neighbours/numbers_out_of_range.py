# Numbers outside of an integer dtype, and the old tensor types
import torch

try: print(torch.tensor([2**40],dtype=torch.int32))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor(200,dtype=torch.int8))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor(-200,dtype=torch.uint8))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor(-300,dtype=torch.uint8))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor(1.7,dtype=torch.int32))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor([1e20],dtype=torch.int64))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor(float('nan'),dtype=torch.int64))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor(float('inf'),dtype=torch.bool))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor([1e39]))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor(1e5,dtype=torch.float16))
except Exception as e: print(type(e).__name__, e)

try: print(torch.full((1,),300,dtype=torch.uint8))
except Exception as e: print(type(e).__name__, e)

try: print(torch.full((1,),2**40,dtype=torch.int32))
except Exception as e: print(type(e).__name__, e)

try: print(torch.ones(1,dtype=torch.uint8).fill_(300))
except Exception as e: print(type(e).__name__, e)

try: print(torch.ones(1,dtype=torch.uint8)+300)
except Exception as e: print(type(e).__name__, e)

try: print(torch.ones(1,dtype=torch.int8)*200)
except Exception as e: print(type(e).__name__, e)

try: print(torch.ones(1,dtype=torch.uint8)-2)
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor([300]).to(torch.uint8))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor([-1.5]).to(torch.uint8))
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor([2**63-1])+1)
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor([1.9,-1.9]).long())
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor([float('nan'),float('inf'),-float('inf')]).long())
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor([float('nan')]).bool())
except Exception as e: print(type(e).__name__, e)

try: print(torch.tensor(3).bool())
except Exception as e: print(type(e).__name__, e)

try: print(torch.FloatTensor(2,3).shape)
except Exception as e: print(type(e).__name__, e)

try: print(torch.FloatTensor([[1,2]]))
except Exception as e: print(type(e).__name__, e)

try: print(torch.DoubleTensor([1]))
except Exception as e: print(type(e).__name__, e)

try: print(torch.LongTensor([1.5]))
except Exception as e: print(type(e).__name__, e)

try: print(torch.IntTensor([1]))
except Exception as e: print(type(e).__name__, e)

try: print(torch.BoolTensor([1,0]))
except Exception as e: print(type(e).__name__, e)

try: print(torch.ByteTensor([1]))
except Exception as e: print(type(e).__name__, e)

try: print(torch.HalfTensor([1]))
except Exception as e: print(type(e).__name__, e)

try: print(torch.FloatTensor(torch.ones(2)))
except Exception as e: print(type(e).__name__, e)

try: print(torch.ones(2).type(torch.DoubleTensor))
except Exception as e: print(type(e).__name__, e)

try: print(torch.ones(2).type('torch.LongTensor'))
except Exception as e: print(type(e).__name__, e)

try: print(isinstance(torch.ones(2),torch.FloatTensor))
except Exception as e: print(type(e).__name__, e)

try: print(isinstance(torch.ones(2),torch.LongTensor))
except Exception as e: print(type(e).__name__, e)

try: print(isinstance(torch.ones(2),torch.Tensor))
except Exception as e: print(type(e).__name__, e)

try: print(torch.FloatTensor)
except Exception as e: print(type(e).__name__, e)

try: print(torch.FloatTensor(3.5))
except Exception as e: print(type(e).__name__, e)

try: print(torch.Tensor(3.5))
except Exception as e: print(type(e).__name__, e)

try: print(torch.Tensor([1.5,2]).dtype)
except Exception as e: print(type(e).__name__, e)

try: print(torch.Tensor(torch.arange(2)))
except Exception as e: print(type(e).__name__, e)

try: print(torch.get_default_dtype())
except Exception as e: print(type(e).__name__, e)

try: print(torch.ones(1).dtype)
except Exception as e: print(type(e).__name__, e)
