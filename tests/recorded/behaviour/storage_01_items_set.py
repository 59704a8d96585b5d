"""What the items of a storage may be set to."""

import warnings

import numpy as np
import torch

warnings.simplefilter("ignore")
x, i = torch.ones(3), torch.tensor([1, 2, 3])


def put(tensor, key, value, untyped=False):
    try:
        storage = tensor.untyped_storage() if untyped else tensor.storage()
        storage[key] = value
        print(tensor)
    except (TypeError, RuntimeError) as error:
        print(type(error).__name__, error)


for value in (2, 3.5, True, torch.tensor(4.0), np.float64(5.0), "7", None, [1.0, 2.0], (1.0,), {}):
    put(x, 0, value)
put(x, slice(0, 2), 6.0)
put(x, slice(0, 3, 2), 7.0)
put(x, slice(0, 2), [1.0, 2.0])
put(x, slice(0, 2), torch.tensor([1.0, 2.0]))
put(i, 0, 1.7)
put(i, 0, "7")
put(x, slice(0, 4), 0, untyped=True)
put(x, 0, "7", untyped=True)
put(x, 0, 1.5, untyped=True)
put(x, slice(0, 2), [1, 2], untyped=True)
