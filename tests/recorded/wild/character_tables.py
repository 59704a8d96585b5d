"""A character model whose table is an array of letters, and a decoder that initialises its GRU by weight names."""

import numpy as np
import torch
from torch import nn

text = "a rose is a rose is a rose "
letters = sorted(set(text))
number_of = {letter: i for i, letter in enumerate(letters)}
letter_of = np.array(letters)
coded = np.array([number_of[letter] for letter in text])
print(letter_of, len(letter_of), letter_of.shape, letter_of[1], letter_of[2:].tolist())
print(repr(letter_of[:3]), letter_of[coded[:4].reshape(2, 2)], letter_of == "o")
print("".join(letter_of[coded[:6]]), [letter.upper() for letter in letter_of if letter > "i"])


def start_recurrent(module):
    if type(module) == nn.Linear:  # noqa: E721
        nn.init.xavier_uniform_(module.weight)
    if type(module) == nn.GRU:  # noqa: E721
        for name in module._flat_weights_names:
            if "weight" in name:
                nn.init.xavier_uniform_(module._parameters[name])


class Model(nn.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.table = nn.Embedding(size, 4)
        self.rnn = nn.GRU(4, hidden, 2, batch_first=True)
        self.out = nn.Linear(hidden, size)
        self.apply(start_recurrent)

    def forward(self, x, state=None):
        y, state = self.rnn(self.table(x), state)
        return self.out(y), state


torch.manual_seed(1)
model = Model(len(letters), 8)
print(model.rnn._flat_weights_names)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
x, y = torch.tensor(coded[None, :-1]), torch.tensor(coded[None, 1:])
for step in range(12):
    scores, _ = model(x)
    loss = nn.functional.cross_entropy(scores.flatten(0, 1), y.view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 4 == 0:
        print(step, f"{loss.item():.3f}")
with torch.no_grad():
    letter, state, said = torch.tensor([[number_of["r"]]]), None, "r"
    for _ in range(8):
        scores, state = model(letter, state)
        letter = scores[:, -1].argmax(-1, keepdim=True)
        said += letter_of[letter].item()
print(said)
