# states of a small game in a class with __iter__, properties and operators
import random
from dataclasses import dataclass, field
from enum import IntEnum

import torch


class Cell(IntEnum):
    EMPTY = 0
    X = 1
    O = -1

    @property
    def other(self):
        return Cell(-self.value)


@dataclass
class Board:
    cells: list = field(default_factory=lambda: [Cell.EMPTY] * 9)
    turn: Cell = Cell.X

    def moves(self):
        return (i for i, c in enumerate(self.cells) if c is Cell.EMPTY)

    def play(self, i):
        cells = self.cells.copy()
        cells[i] = self.turn
        return Board(cells, self.turn.other)

    @property
    def winner(self):
        lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
        for a, b, c in lines:
            if (total := self.cells[a] + self.cells[b] + self.cells[c]) in (3, -3):
                return Cell(total // 3)
        return None

    def tensor(self):
        return torch.tensor([int(c) for c in self.cells], dtype=torch.float)

    def __str__(self):
        symbols = {Cell.EMPTY: '.', Cell.X: 'x', Cell.O: 'o'}
        rows = [''.join(symbols[c] for c in self.cells[r:r + 3]) for r in range(0, 9, 3)]
        return '\n'.join(rows)


def play_out(board, rng):
    while board.winner is None and (options := list(board.moves())):
        board = board.play(rng.choice(options))
        yield board


rng = random.Random(4)
torch.manual_seed(0)
value = torch.nn.Linear(9, 1)
for game in range(3):
    *_, last = play_out(Board(), rng)
    print(last, last.winner, f'{value(last.tensor()).item():+.4f}', sep='\n')
print(Cell.X + Cell.O, list(Cell), max(Cell), Board() == Board())
