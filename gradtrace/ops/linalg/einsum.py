"""einsum: sums of products by subscripts, with the same steps as PyTorch.

Every operand is aligned to one order of dims (output subscripts first, then the summed ones) by
diagonals, unsqueezes and a permute; then operands are multiplied from left to right, each pair by
one batched matrix product.
"""

from __future__ import annotations

import re
from math import prod

from gradtrace.annotations import Any, Sequence
from gradtrace.engine.data.tensor import Tensor
from gradtrace.ops.api import public
from gradtrace.ops.linalg.matrix import bmm

ELLIPSIS = "..."
Subscripts = list[str]


@public(forms="f")
def einsum(*args: Any) -> Tensor:
    """Evaluate einsum("ij,jk->ik", a, b), or operands each followed by a list of ints as subscripts
    (torch.einsum).
    """
    if args and isinstance(args[0], Tensor):
        args = from_lists(args)
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    equation = args[0]
    operands = list(args[1:])
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = list(operands[0])
    inputs, output = parse(equation, operands)
    return contract(inputs, output, operands)


def from_lists(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Convert the form einsum(a, [0, 1], b, [1, 2], [0, 2]) to an equation with letters."""

    def letter(number: Any) -> str:
        if number is Ellipsis:
            return ELLIPSIS
        return chr(ord("A") + number if number < 26 else ord("a") + number - 26)

    def letters(numbers: Sequence[Any]) -> str:
        return "".join(map(letter, numbers))

    pairs = args if len(args) % 2 == 0 else args[:-1]
    equation = ",".join(letters(numbers) for numbers in pairs[1::2])
    if len(args) % 2:
        equation += "->" + letters(args[-1])
    return (equation, *pairs[::2])


def split_subscripts(text: str, whose: str, start: int) -> Subscripts:
    """Split the subscripts of one operand or of the output; an ellipsis counts as one subscript."""
    results: Subscripts = []
    for match in re.finditer(r"\.\.\.|[^ ]", text):
        s = match[0]
        if s[0] == "." and ELLIPSIS in results:
            raise RuntimeError(
                f"einsum(): found '.' for {whose} for which an ellipsis was already found"
            )
        if s == ".":
            raise RuntimeError(f"einsum(): found '.' for {whose} that is not part of any ellipsis")
        if s != ELLIPSIS and not (s.isascii() and s.isalpha()):
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {start + match.start()} in the equation string, "
                "subscripts must be in [a-zA-Z]"
            )
        results.append(s)
    return results


def parse(equation: str, operands: list[Tensor]) -> tuple[list[Subscripts], Subscripts]:
    left, arrow, right = equation.partition("->")
    inputs: list[Subscripts] = []
    start = 0
    texts = left.split(",")
    for i, text in enumerate(texts):
        inputs.append(split_subscripts(text, f"operand {i}", start))
        start += len(text) + 1
    if len(texts) > len(operands):
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    if len(texts) < len(operands):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    for i, (subscripts, operand) in enumerate(zip(inputs, operands, strict=True)):
        check_count(subscripts, operand, i)
    if arrow:
        output = split_subscripts(right, "the output", len(left) + 2)
        check_output(inputs, output)
        return inputs, output
    letters = [s for subscripts in inputs for s in subscripts if s != ELLIPSIS]
    once = sorted(s for s in set(letters) if letters.count(s) == 1)
    return inputs, ([ELLIPSIS] if any(ELLIPSIS in s for s in inputs) else []) + once


def check_count(subscripts: Subscripts, operand: Tensor, i: int) -> None:
    n = len(subscripts) - (ELLIPSIS in subscripts)
    if ELLIPSIS in subscripts:
        if n > operand.ndim:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({n}) is more than the number of dimensions "
                f"({operand.ndim}) for operand {i}"
            )
    elif n != operand.ndim:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({n}) does not match the number of dimensions "
            f"({operand.ndim}) for operand {i} and no ellipsis was given"
        )


def check_output(inputs: list[Subscripts], output: Subscripts) -> None:
    labels = {s for subscripts in inputs for s in subscripts}
    for i, s in enumerate(output):
        if s == ELLIPSIS:
            continue
        if s in output[:i]:
            raise RuntimeError(
                f"einsum(): output subscript {s} appears more than once in the output"
            )
        if s not in labels:
            raise RuntimeError(
                f"einsum(): output subscript {s} does not appear in the equation for any input operand"
            )


def spelled_out(subscripts: Subscripts, ndim: int, width: int) -> Subscripts:
    """Replace the ellipsis by dims "...0", "...1", ..., numbered so that operands align at the
    right.
    """
    covered = ndim - len(subscripts) + 1
    results: Subscripts = []
    for s in subscripts:
        results += [f"...{width - covered + i}" for i in range(covered)] if s == ELLIPSIS else [s]
    return results


def contract(inputs: list[Subscripts], output: Subscripts, operands: list[Tensor]) -> Tensor:
    width = max(
        (t.ndim - len(s) + 1 for s, t in zip(inputs, operands, strict=True) if ELLIPSIS in s),
        default=0,
    )
    dots = [f"...{i}" for i in range(width)]
    full = [
        spelled_out(s, t.ndim, width) if ELLIPSIS in s else s
        for s, t in zip(inputs, operands, strict=True)
    ]
    kept = [label for s in output for label in (dots if s == ELLIPSIS else [s])]
    summed_dots = [s for s in dots if s not in kept]
    order = (
        kept
        + summed_dots
        + sorted({s for subscripts in full for s in subscripts} - set(kept) - set(dots))
    )
    check_sizes(full, operands)
    aligned = [align(t, s, order, i) for i, (t, s) in enumerate(zip(operands, full, strict=True))]
    if len(aligned) == 1:
        dims = list(range(len(kept), len(order)))
        return aligned[0].sum(dims) if dims else aligned[0]
    result = aligned[0]
    for i, operand in enumerate(aligned[1:], 1):
        later = aligned[i + 1 :]
        done = [k for k in range(len(kept), len(order)) if all(t.shape[k] == 1 for t in later)]
        result = multiply(result, operand, done)
    return result.view(tuple(result.shape[: len(kept)])) if len(order) > len(kept) else result


def check_sizes(full: list[Subscripts], operands: list[Tensor]) -> None:
    seen: dict[str, int] = {}
    for i, (subscripts, operand) in enumerate(zip(full, operands, strict=True)):
        mine: dict[str, int] = {}
        for number, (s, size) in enumerate(zip(subscripts, operand.shape, strict=True)):
            if s in mine and mine[s] != size:
                raise RuntimeError(
                    f"einsum(): subscript {s} is repeated for operand {i} but the sizes don't match, {size} != "
                    f"{mine[s]}"
                )
            mine[s] = size
            if seen.get(s, 1) != 1 and size not in (1, seen[s]):
                if s.startswith("..."):
                    raise RuntimeError(
                        f"einsum(): dimension {number} covered by ellipsis in operand {i}has size {size} which does "
                        f"not broadcast with previously seen ellipsis with size {seen[s]} for the respective dimension"
                    )
                raise RuntimeError(
                    f"einsum(): subscript {s} has size {size} for operand {i} which does not broadcast with previously "
                    f"seen size {seen[s]}"
                )
            seen[s] = max(size, seen.get(s, 1)) if size else size


def align(operand: Tensor, subscripts: Subscripts, order: Subscripts, position: int) -> Tensor:
    """Permute the operand's dims to `order`, with a dim of size 1 for each subscript it lacks."""
    subscripts = list(subscripts)
    i = 0
    while i < len(subscripts):
        first = subscripts.index(subscripts[i])
        if first == i:
            i += 1
            continue
        operand = operand.diagonal(0, first, i).movedim(-1, first)
        subscripts.pop(i)
    for s in order:
        if s not in subscripts:
            operand = operand.unsqueeze(operand.ndim)
            subscripts.append(s)
    return operand.permute([subscripts.index(s) for s in order])


def multiply(a: Tensor, b: Tensor, done: list[int]) -> Tensor:
    """Multiply two aligned operands and sum (keepdim) over the dims `done`, which no later operand
    has.
    """
    both = [k for k in done if a.shape[k] != 1 and b.shape[k] != 1]
    only_a = [k for k in done if a.shape[k] != 1 and k not in both]
    only_b = [k for k in done if b.shape[k] != 1 and k not in both]
    if only_a:
        a = a.sum(only_a, keepdim=True)
    if only_b:
        b = b.sum(only_b, keepdim=True)
    return batched_product(a, b, both) if both else a * b


def batched_product(a: Tensor, b: Tensor, summed: list[int]) -> Tensor:
    """Multiply by one bmm, summing over `summed`. A dim of both operands is a batch dim, others are
    rows or columns.
    """
    rest = [k for k in range(a.ndim) if k not in summed]
    shared = [k for k in rest if a.shape[k] != 1 and b.shape[k] != 1]
    left = [k for k in rest if a.shape[k] != 1 and b.shape[k] == 1]
    right = [k for k in rest if a.shape[k] == 1]
    batch = numel(a, shared)
    rows = numel(a, left)
    inner = numel(a, summed)
    columns = numel(b, right)
    left_matrices = a.permute(shared + left + summed + right).reshape(batch, rows, inner)
    right_matrices = b.permute(shared + summed + right + left).reshape(batch, inner, columns)
    shape = [a.shape[k] for k in shared + left] + [1] * len(summed) + [b.shape[k] for k in right]
    order = shared + left + summed + right
    return (
        bmm(left_matrices, right_matrices)
        .view(shape)
        .permute([order.index(k) for k in range(a.ndim)])
    )


def numel(t: Tensor, dims: list[int]) -> int:
    return prod(t.shape[k] for k in dims)
