"""What a book shows of storages, views and devices, and of new tensors like another."""

import torch

points = torch.tensor([[1.0, 4.0], [2.0, 1.0], [3.0, 5.0]])
store = points.storage()
print(store, len(store), store[1])
store[0] = 7.5
points.t().storage()[3] = -1
print(points, points.storage_offset(), points[1].storage_offset(), points.t().stride())
print(torch.tensor([1, 2], dtype=torch.int16).storage())
print(torch.tensor([1], dtype=torch.uint8).untyped_storage())
weights = torch.ones(2, requires_grad=True)
weights.data.storage()[1] = 3.0
(weights**2).sum().backward()
print(weights, weights.grad)

corners = torch.stack((points[:, 0], points[:, 1]), axis=-1)
print(corners.equal(points), torch.stack([points, points], axis=1).shape)
print(points.new([9, 8]), points.new(2, 3).shape, points.long().new([1.0]), points.new().shape)

for place in (torch.device("cpu"), torch.device("cuda"), torch.device("cuda:1"), torch.device("cuda", 0)):
    print(place, repr(place), place.type, place.index, place == torch.device("cuda:0"))
for wrong in ("gpu", "cpu:x"):
    try:
        torch.device(wrong)
    except RuntimeError as error:
        print(error)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(torch.zeros(2).to(device).device)
