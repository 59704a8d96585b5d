"""Tensor.view(dtype) with elements of another size: what PyTorch refuses, and the bytes."""

import pytest

import gradtrace as torch

ROWS = torch.arange(16, dtype=torch.int32).reshape(4, 4)


@pytest.mark.parametrize(
    ("tensor", "dtype", "message"),
    [
        (ROWS[0, 0], torch.int64, r"self.dim\(\) cannot be 0"),
        (ROWS.t(), torch.int64, r"self.stride\(-1\) must be 1 .* but got 4"),
        (ROWS.t(), torch.int16, r"self.stride\(-1\) must be 1 .* but got 4"),
        (ROWS[:, :3], torch.int64, r"self.size\(-1\) must be divisible by 2 .* but got 3"),
        (ROWS[:, 1:3], torch.int64, r"self.storage_offset\(\) must be divisible by 2 .* but got 1"),
        (
            ROWS.as_strided((2, 2, 2), (4, 1, 1)),
            torch.int64,
            r"self.stride\(1\) must be divisible by 2 .* but got 1",
        ),
    ],
)
def test_what_is_refused(tensor, dtype, message):
    with pytest.raises(RuntimeError, match=f"{message}"):
        tensor.view(dtype)


def test_views_of_the_same_bytes():
    assert ROWS.view(torch.int64)[0].tolist() == [1 << 32, 3 * (1 << 32) + 2]
    assert ROWS.view(torch.int16).shape == (4, 8) and ROWS.t().view(torch.float32).stride() == (
        1,
        4,
    )
    empty = torch.empty(0, 5, 64).view(torch.float64)
    assert (empty.shape, empty.stride()) == ((0, 5, 32), (160, 32, 1))
    ROWS.view(torch.int16)[0, 0] = 7
    assert ROWS[0, 0] == 7
