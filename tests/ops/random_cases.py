"""Random functions whose numbers are compared bit for bit with those of PyTorch's CPU generator.

`python tests/ops/random_cases.py` writes `recorded/random.txt` with PyTorch 2.13: for each expression a checksum of the
bytes that it gives from the seed 7, and of the numbers that the generator gives after it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent / "recorded" / "random.txt"
SHAPES = ((1,), (5,), (15,), (16,), (17,), (100,), (1000,), (3, 5), (4, 4), (20, 30), (2, 3, 4))
FLOATS = ("float32", "float64")
# `new` is a tensor of the shape, `grid` has numbers from 0 to 1 in it.
OF_A_SHAPE = """
torch.rand(shape, dtype=kind)
torch.randn(shape, dtype=kind)
torch.rand_like(new)
torch.randn_like(new)
torch.randint(0, 10, shape, dtype=kind)
torch.randint_like(new, 3, 50)
torch.normal(grid, 2.0)
torch.normal(1.5, grid)
torch.normal(new, grid)
torch.normal(0.5, 2.0, shape, dtype=kind)
torch.bernoulli(grid)
torch.bernoulli(grid, 0.3)
torch.poisson(grid * 30)
torch.binomial(new.fill_(40), grid)
new.uniform_()
new.uniform_(-0.3, 0.7)
new.normal_(0.3, 1.7)
new.bernoulli_(0.3)
new.bernoulli_(grid)
new.exponential_(1.5)
new.cauchy_(0.5, 1.7)
new.log_normal_(0.3, 0.7)
new.geometric_(0.3)
new.random_()
new.random_(7)
new.random_(-3, 9)
new[..., ::2].normal_()
new[..., ::2].uniform_(2, 5)
F.dropout(new + 1, 0.3)
F.alpha_dropout(new + 1, 0.3, True)
F.rrelu(grid - 0.5, training=True)
"""
OF_A_MATRIX = """
torch.rand_like(new.t())
torch.randn_like(new.t())
torch.bernoulli(grid.t())
torch.poisson(grid.t() * 30)
F.dropout(new.t() + 1, 0.3)
new.t().normal_()
torch.multinomial(grid + 1, 1)
torch.multinomial(grid + 1, 3)
torch.multinomial(grid.t() + 1, 3)
torch.multinomial(grid + 1, 7, True)
nn.init.xavier_uniform_(new)
nn.init.xavier_normal_(new, gain=2)
nn.init.kaiming_uniform_(new)
nn.init.kaiming_normal_(new, mode='fan_out', nonlinearity='relu')
nn.init.trunc_normal_(new)
nn.init.trunc_normal_(new, std=0.02)
nn.init.trunc_normal_(new, mean=3, std=0.5)
nn.init.sparse_(new, 0.3)
"""
OF_INTEGERS = """
torch.randint(0, count, shape)
torch.randint(-5, 2**28 - 6, shape)
torch.randint(-5, 2**28, shape)
torch.randint(0, 2**40, shape)
torch.randperm(count)
torch.empty(shape, dtype=torch.int64).random_()
torch.empty(shape, dtype=torch.int64).random_(-2**63, None)
torch.empty(shape, dtype=torch.int64).geometric_(0.2)
torch.empty(shape, dtype=torch.int32).random_()
torch.empty(shape, dtype=torch.int16).random_(3, None)
torch.empty(shape, dtype=torch.uint8).random_()
torch.empty(shape, dtype=torch.int8).random_()
torch.empty(shape, dtype=torch.bool).random_()
torch.empty(shape, dtype=torch.bool).bernoulli_(0.3)
torch.empty(shape, dtype=torch.float16).normal_()
torch.empty(shape, dtype=torch.float16).uniform_(0.5, 2)
"""
SINGLE = """
torch.get_rng_state()
torch.manual_seed(-3).get_state()
torch.Generator().manual_seed(2**40 + 5).get_state()
torch.rand(3, generator=torch.Generator())
torch.randn(3, generator=torch.Generator().manual_seed(5))
torch.cat([torch.randn(3), torch.randn(2, dtype=torch.float64).float(), torch.randn(16), torch.randn(2)])
nn.Bilinear(3, 4, 5)
nn.Linear(30, 50)
nn.Linear(3, 5, bias=False, dtype=torch.float64)
nn.Conv1d(2, 3, 3)
nn.Conv2d(4, 8, 3, groups=2)
nn.Conv3d(2, 3, 3)
nn.ConvTranspose2d(4, 6, 3, groups=2)
nn.Embedding(10, 3, padding_idx=2)
nn.EmbeddingBag(10, 3)
nn.RNN(3, 4, 2, bidirectional=True)
nn.LSTM(3, 4, 1, proj_size=2)
nn.GRU(3, 4, 2)
nn.LSTMCell(3, 4)
nn.MultiheadAttention(8, 2)
nn.MultiheadAttention(8, 2, kdim=4, vdim=5, add_bias_kv=True)
nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2)
nn.Transformer(8, 2, 1, 1, 16)
nn.Sequential(nn.Linear(4, 20), nn.ReLU(), nn.Linear(20, 3))
"""


def expressions() -> Iterator[tuple[str, tuple[int, ...], str]]:
    """Each expression with the shape and the dtype it is tried with."""
    for shape in SHAPES:
        for kind in FLOATS:
            for text in (OF_A_SHAPE + (OF_A_MATRIX if len(shape) == 2 else "")).split("\n"):
                yield text, shape, kind
        for text in OF_INTEGERS.split("\n"):
            yield text, shape, "int64"
    for text in SINGLE.split("\n"):
        yield text, (1,), "float32"


def cases() -> list[tuple[str, tuple[int, ...], str]]:
    return [case for case in expressions() if case[0]]


def label(case: tuple[str, tuple[int, ...], str]) -> str:
    text, shape, kind = case
    return f"{text}  # {kind}, {'x'.join(map(str, shape))}"


def checksums(library: Any, case: tuple[str, tuple[int, ...], str]) -> str:
    """Evaluate a case from the seed 7: checksums of the result's bytes and of the numbers after it."""
    text, shape, kind = case
    count = 1
    for size in shape:
        count *= size
    floating = getattr(library, kind if kind in FLOATS else "float32")
    grid = library.arange(count, dtype=floating).reshape(shape) / count
    names = {
        "torch": library,
        "nn": library.nn,
        "F": library.nn.functional,
        "shape": shape,
        "count": count,
    }
    names |= {"kind": floating, "grid": grid, "new": library.zeros(shape, dtype=floating)}
    library.manual_seed(7)
    result = eval(text, names)
    tensors = list(result.state_dict().values()) if hasattr(result, "state_dict") else [result]
    made = zlib.crc32(b"".join(tensor.detach().numpy().tobytes() for tensor in tensors))
    after = zlib.crc32(library.rand(2).numpy().tobytes() + library.randn(3).numpy().tobytes())
    return f"{made:08x} {after:08x}"


def recorded() -> dict[str, str]:
    """What PyTorch gave, by label."""
    lines = RECORDED.read_text(encoding="utf-8").splitlines()[1:]
    return {line[18:]: line[:17] for line in lines}


def main() -> None:
    import torch

    lines = [f"{checksums(torch, case)} {label(case)}\n" for case in cases()]
    RECORDED.write_text(
        "Checksums of PyTorch 2.13.0 on the CPU. See random_cases.py.\n" + "".join(lines),
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
