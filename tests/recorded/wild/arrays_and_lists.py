"""Made data: numpy's arrays with plain lists and tuples as the other operand."""

import numpy as np
import torch

rng = np.random.RandomState(0)
points = rng.randn(6, 2) * [1.0, 0.5] + [0.5, -1]
print(points.shape, points.mean(axis=0).round(4))
grid = np.arange(6).reshape(3, 2)
print(grid + [10, 20], [10, 20] + grid)
print(grid - (1, 1), (5, 7) - grid, grid / [2.0, 4.0], grid // [2, 2], grid % (2, 3))
print(grid ** [1, 2], grid @ [1, -1], [1, 2, 3] @ grid)
print(grid > [1, 4], grid == (2, 3), grid != [2, 3])
print(grid.astype(np.float32) * [0.5, 2], (grid.astype(np.float32) * [0.5, 2]).dtype)
grid += [100, 200]
print(grid)
weights = [1, 2]
weights += np.array([1, 2])
print(weights, [1, 2] * np.array(3), np.array([1, 2]) * [3], [[1], [2]] * np.array([1, 2]))
print([0] * 3 + [1], [1, 2] * np.array([2, 2]), [1, 2] * np.int32(2), (1,) * np.array([2])[0])
for wrong in ([1, 2, 3], ["a", "b"], [None, 1]):
    try:
        print(np.zeros(2) + wrong)
    except (ValueError, TypeError) as error:
        print("refused:", isinstance(error, ValueError))
x = torch.tensor(points, dtype=torch.float, requires_grad=True)
scaled = (x * torch.tensor([2.0, 1.0])).pow(2).sum()
scaled.backward()
print(round(scaled.item(), 3), x.grad.sum(0))
