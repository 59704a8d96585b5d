"""Adaptive pooling and unpooling as PyTorch prints them; their derivatives are with the other pooling's."""


def test_prints_what_pytorch_prints(expression, printed, printed_by_gradtrace):
    assert printed_by_gradtrace(expression) == printed
