"""EmbeddingBag and Embedding: what PyTorch refuses, and gradients of padding."""

import pytest

import gradtrace as torch

F = torch.nn.functional
WEIGHT = torch.arange(12.0).reshape(4, 3)
PAIR = torch.tensor([[0, 1]])


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("index", [-1, 4])
def test_an_index_outside_the_table_is_refused(mode, index):
    with pytest.raises(
        RuntimeError, match=f"Expected idx >= 0 && idx < num_embeddings but found idx to be {index}"
    ):
        F.embedding_bag(torch.tensor([[1, index]]), WEIGHT, mode=mode)
    with pytest.raises(IndexError, match="index out of range in self"):
        F.embedding(torch.tensor([index]), WEIGHT)


@pytest.mark.parametrize(
    ("kind", "message", "arguments"),
    [
        (RuntimeError, "number of embeddings, -4 through 3, but got 4", {"padding_idx": 4}),
        (RuntimeError, "number of embeddings, -4 through 3, but got -5", {"padding_idx": -5}),
        (RuntimeError, "type torch.FloatTensor does not equal torch.DoubleTensor",
         {"mode": "sum", "per_sample_weights": torch.ones(1, 2, dtype=torch.float64)}),
    ],
)  # fmt: skip
def test_other_arguments_that_are_refused(kind, message, arguments):
    with pytest.raises(kind, match=message):
        F.embedding_bag(PAIR, WEIGHT, **arguments)


def test_tensors_of_a_wrong_number_of_dims_are_refused():
    with pytest.raises(
        ValueError, match="weight has to be a 2D Tensor, but got Tensor of dimension 1"
    ):
        F.embedding_bag(PAIR, WEIGHT[0])
    with pytest.raises(ValueError, match="offsets has to be a 1D Tensor"):
        F.embedding_bag(PAIR[0], WEIGHT, torch.tensor([[0, 1]]))


def test_a_gradient_of_nan_does_not_reach_the_row_of_padding():
    weight = WEIGHT.clone().requires_grad_()
    rows = F.embedding(torch.tensor([2, 1, 2, 1]), weight, padding_idx=2, scale_grad_by_freq=True)
    rows.backward(torch.tensor([[float("nan")], [1.0], [float("inf")], [3.0]]).expand(4, 3))
    assert weight.grad.tolist() == [[0.0] * 3, [2.0] * 3, [0.0] * 3, [0.0] * 3]


def test_the_gradient_of_a_sparse_embedding_is_dense():
    table = torch.nn.EmbeddingBag(4, 3, mode="sum", sparse=True)
    table(PAIR).sum().backward()
    grad = table.weight.grad
    assert grad.to_dense() is grad and grad.tolist() == [[1.0] * 3] * 2 + [[0.0] * 3] * 2
    assert grad.to_dense(torch.float64).dtype is torch.float64


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_the_row_of_padding_is_not_read(mode):
    nan = float("nan")
    weight = torch.tensor([[nan, nan], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
    out = F.embedding_bag(torch.tensor([[0, 1], [2, 1]]), weight, mode=mode, padding_idx=0)
    assert out.tolist() == [[3.0, 4.0], [8.0, 10.0] if mode == "sum" else [4.0, 5.0]]
    (grad,) = torch.autograd.grad(out.sum(), weight, create_graph=True)
    assert grad.tolist() == (
        [[0, 0], [2, 2], [1, 1]] if mode == "sum" else [[0, 0], [1.5, 1.5], [0.5, 0.5]]
    )


def test_the_weight_of_padding_is_not_read():
    nan = float("nan")
    weight = torch.tensor([[1.0, 2.0], [nan, 4.0], [5.0, 6.0]], requires_grad=True)
    factors = torch.tensor([[nan, 2.0], [3.0, 4.0]], requires_grad=True)
    index = torch.tensor([[1, 1], [2, 1]])
    out = F.embedding_bag(index, weight, mode="sum", padding_idx=1, per_sample_weights=factors)
    out.sum().backward()
    assert out.tolist() == [[0.0, 0.0], [15.0, 18.0]]
    assert weight.grad.tolist() == [[0.0, 0.0], [0.0, 0.0], [3.0, 3.0]]
    assert factors.grad.tolist() == [[0.0, 0.0], [11.0, 0.0]]
