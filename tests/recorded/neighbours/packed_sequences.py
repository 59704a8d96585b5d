"""Sequences of different lengths: padded, packed, through recurrent layers and back."""
import torch
import torch.nn as nn
from torch.nn.utils.rnn import (PackedSequence, pack_padded_sequence, pack_sequence, pad_packed_sequence, pad_sequence,
                                unpack_sequence, unpad_sequence)


def fill(module):
    for i, p in enumerate(module.parameters()):
        with torch.no_grad():
            p.copy_(((torch.arange(p.numel()) * 5 + i) % 13 - 6).reshape(p.shape) * 0.0625)
    return module


def tell(call):
    try:
        print(call())
    except Exception as e:
        print(type(e).__name__, e)


a = [torch.arange(3.0), torch.arange(2.0), torch.arange(1.0)]
print(pad_sequence(a), pad_sequence(a, batch_first=True, padding_value=-1.0))
print(pad_sequence(a, True, padding_side="left"), unpad_sequence(pad_sequence(a), torch.tensor([3, 2, 1])))
packed = pack_padded_sequence(pad_sequence(a).unsqueeze(-1), [3, 2, 1])
print(packed)
print(pad_packed_sequence(packed), pack_sequence(a))
x = ((torch.arange(30) * 7 % 11 - 5).float() * 0.125).reshape(3, 5, 2).requires_grad_()
for layer in (nn.RNN, nn.LSTM, nn.GRU):
    for options in ({}, {"bidirectional": True, "num_layers": 2}):
        m = fill(layer(2, 3, batch_first=True, **options))
        packed = pack_padded_sequence(x, [2, 5, 3], batch_first=True, enforce_sorted=False)
        out, state = m(packed)
        y, lengths = pad_packed_sequence(out, batch_first=True)
        print(y, lengths, state)
        x.grad = None
        y.sum().backward()
        print(x.grad, out.batch_sizes, out.sorted_indices, out.data.shape)
packed = pack_padded_sequence(x, torch.tensor([5, 3, 1]), batch_first=True)
print(packed.data, packed.batch_sizes, packed.sorted_indices, isinstance(packed, PackedSequence))
print(pad_packed_sequence(packed, total_length=6)[0].shape, pad_packed_sequence(packed)[0].grad_fn)
print(unpack_sequence(pack_sequence([torch.arange(2.0), torch.arange(3.0)], enforce_sorted=False)))
tell(lambda: pad_packed_sequence(packed, total_length=2))
tell(lambda: pack_padded_sequence(pad_sequence(a), [1, 2, 3]))
tell(lambda: pack_padded_sequence(pad_sequence(a), [3, 2]))
tell(lambda: pack_padded_sequence(pad_sequence(a), [3, 2, 0]))
tell(lambda: pad_sequence([]))
