"""Differences from PyTorch that are known, each with its reason. What none of these covers fails the test."""

from __future__ import annotations

import re

# (what of the difference's text, what of the program's text, the reason); the first that fits counts.
KNOWN: tuple[tuple[str, str, str], ...] = (
    (
        r"storage_offset: |_is_view: |_version: |grad_fn: CloneBackward0 for ",
        r"",
        "where a result lies in memory, and so whether a reshape of it is a view or a copy",
    ),
    (
        r"grad_fn: .* for AsStridedBackward0",
        r"detach_|no_grad",
        "a view whose base was detached in place or changed under no_grad gets a new grad_fn in PyTorch",
    ),
    (
        r"^v\d+: ",
        r"cross|cosine_similarity",
        "rounding: PyTorch's kernel contracts products and sums, and a quotient or a comparison makes that large",
    ),
    (
        r"hooks",
        r"register_(pre)?hook",
        "what a node's hooks see of arguments and outputs without a gradient",
    ),
    (
        r"^error: none\n  for: (AttributeError|TypeError): .*'NoneType'",
        r"AddTo",
        "PyTorch calls a tensor's hook with None where a custom Function gives no gradient",
    ),
    (
        r"^error: none\n  for: RuntimeError: view size is not compatible",
        r"",
        "where a result lies in memory, and so whether a view of it is possible",
    ),
    (
        r"^v\d+(\.grad)?: ",
        r"topk|median|mode\(",
        "which of equal elements topk, median and mode choose",
    ),
    (
        r"^v\d+: ",
        r"logcumsumexp|logaddexp|layer_norm",
        "rounding: PyTorch's kernel adds in another order, and a comparison, quotient or remainder makes that large",
    ),
    (
        r"^v\d+(\.grad)?: ",
        r"\.logit\(|digamma|\*\* v\d",
        "rounding: the last digits of logit, digamma and pow, which a comparison or a power makes large",
    ),
    (
        r"'s graph: ",
        r"cosine_similarity",
        "a composed function has other steps for these shapes and flags",
    ),
    (
        r"grad_fn: ViewBackward0 for AsStridedBackward0",
        r"requires_grad_\(False\)",
        "the flag of a base changed under its view",
    ),
    (
        r"^v\d+: .*\de-(0[6-9]|1\d)",
        r" - |sub",
        "rounding: the difference of two nearly equal numbers",
    ),
    (
        r"grad: ",
        r"logsigmoid(.|\n)*\.data = ",
        "PyTorch's derivative reads a buffer of forward, ours the operand",
    ),
    (
        r"^v\d+: ",
        r"addc(mul|div)_|lerp_",
        "an operand that shares memory with the tensor that it changes",
    ),
    (r"ZeroTensors are immutable", r"", "a fault of PyTorch's"),
    (
        r"'s graph: ",
        r"inner|smooth_l1_loss",
        "a composed function has other steps for these shapes and flags",
    ),
    (
        r"dtype: |error: ",
        r"lerp\(|clamp\(|cummin|cross_entropy|diff\(|softmax|torch\.normal\(|median\(|tensordot\(",
        "operands of other dtypes or without elements, which PyTorch's kernel does not look at",
    ),
    (
        r"'s graph: |grad_fn: ",
        r"create_graph=True",
        "names in the recorded graph of a derivative: the rule takes other steps to the same value",
    ),
    (
        r"^error: (?!none).*\n  for: (?!none)",
        r"",
        "both refuse the statement, with the words of another of its faults or other words",
    ),
    (
        r"^error: none\n  for: RuntimeError: Subtraction",
        r"logaddexp|pow|\*\*",
        "PyTorch's own derivative fails on a bool operand",
    ),
    (r"INTERNAL ASSERT", r"", "a fault of PyTorch's"),
    (
        r"",
        r"inference_mode",
        "tensors of inference mode used outside of it: PyTorch's kernels count versions and views of their own results",
    ),
    (
        r"a second time",
        r"",
        "what a rule of the recorded graph saves, and so whether a second pass meets freed values",
    ),
    (
        r"modified by an inplace operation",
        r"",
        "PyTorch saves a value that its formula does not need, or we one that ours needs",
    ),
    (
        r"single memory location|created in no_grad mode",
        r"",
        "overlapping memory met inside PyTorch's kernels or its backward",
    ),
    (r"^v\d+(\.grad)?: ", r"signbit|softshrink|copysign", "the sign of a zero"),
    (r"_version: ", r"max_pool1d", "how often PyTorch's kernel wrote its own result"),
    (
        r"^error: none\n  for: (NotImplementedError|RuntimeError: (result type|expected scalar type))",
        r"",
        "PyTorch's kernel lacks a dtype that we compute",
    ),
    (
        r"for torch::autograd::NotImplemented",
        r"",
        "a result without elements of an operator without a derivative",
    ),
    (
        r"\.grad: .* for None|\.grad: None for|requires_grad: ",
        r"",
        "a gradient of zeros where PyTorch has none, or none where it has zeros, of a rule that is 0 everywhere",
    ),
)


def reason(what: str, program: str) -> str:
    """Why this difference is known; "" if it is not."""
    for of_difference, of_program, why in KNOWN:
        if re.search(of_difference, what, re.DOTALL) and re.search(of_program, program):
            return why
    return ""
