# torch.testing.assert_close, and what it says of a difference
import torch
from torch.testing import assert_close

assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-6]))
assert_close(torch.tensor([float("nan")]), torch.tensor([float("nan")]), equal_nan=True)
assert_close([torch.ones(2), 3.0], [torch.ones(2), 3.0])
assert_close({"a": torch.ones(2)}, {"a": torch.ones(2)})
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
for a, b, options in (
    (x, x + torch.tensor([0.0, 1.0]), {}),
    (x, x.double(), {}),
    (x, torch.ones(2), {}),
    (torch.tensor(2.0), torch.tensor(1.0), {}),
    (torch.tensor([1, 2]), torch.tensor([1, 5]), {}),
    (x, x * 1.5, {"rtol": 0.1, "atol": 0.25}),
    (x, x + 1, {"msg": "different"}),
    (1.5, 2.0, {}),
):
    try:
        assert_close(a, b, **options)
    except AssertionError as error:
        print(error)
        print("--")
try:
    assert_close(x, x, rtol=0.1)
except ValueError as error:
    print(error)
