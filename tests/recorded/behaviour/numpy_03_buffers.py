"""Tensors that share the memory of a buffer."""

import numpy as np
import torch

array = np.arange(4, dtype=np.int16)
t = torch.frombuffer(array, dtype=torch.int16)
t[0] = 7
print(array, t)
print(torch.frombuffer(bytearray(b"\x01\x02\x03\x04"), dtype=torch.uint8, offset=1, count=2))
print(torch.frombuffer(bytearray(8), dtype=torch.float32, requires_grad=True))
