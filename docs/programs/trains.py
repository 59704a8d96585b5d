import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=13)
parser.add_argument("--data", default="large")
arguments = parser.parse_args()

torch.manual_seed(0)
encoder, head = torch.nn.Linear(4, 3), torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
x, y = torch.randn(8, 4), torch.randn(8, 1)
for _ in range(arguments.epochs):
    loss = ((head(torch.tanh(encoder(x))) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
