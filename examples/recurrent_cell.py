# The recurrent cell that the animations of dynamic graphs show, built line by line.
#     gradtrace run examples/recurrent_cell.py
#     gradtrace graph examples/recurrent_cell.py -o cell.gif
import torch

W_h = torch.linspace(-1, 1, 9).reshape(3, 3).requires_grad_()
W_x = torch.linspace(-0.5, 0.5, 6).reshape(3, 2).requires_grad_()
x = torch.tensor([[1.0, 2.0]])
prev_h = torch.tensor([[0.5, -0.5, 1.0]])

i2h = torch.mm(W_x, x.t())
h2h = torch.mm(W_h, prev_h.t())
next_h = i2h + h2h
next_h = next_h.tanh()

loss = next_h.sum()
loss.backward()
print(next_h)
print(W_h.grad)
print(W_x.grad)
