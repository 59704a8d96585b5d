import torch
import torch.nn.functional as F
from itertools import islice
import matplotlib.pyplot as plt
import matplotlib.animation as animation


def life(board):
    kernel = torch.ones(1, 1, 3, 3)
    kernel[0, 0, 1, 1] = 0
    while True:
        yield board
        n = F.conv2d(F.pad(board[None, None].float(), (1, 1, 1, 1), mode='circular'), kernel)[0, 0]
        board = ((n == 3) | ((board == 1) & (n == 2))).int()


glider = torch.zeros(6, 6, dtype=torch.int)
for r, c in [(0, 1), (1, 2), (2, 0), (2, 1), (2, 2)]:
    glider[r, c] = 1
frames = list(islice(life(glider), 5))
for k, frame in enumerate(frames):
    print(k, frame.sum().item())
print('\n'.join(''.join('#' if v else '.' for v in row) for row in frames[-1].tolist()))
print(torch.equal(frames[4], glider.roll((1, 1), (0, 1))))
fig = plt.figure()
im = plt.imshow(frames[0].numpy(), animated=True)


def update(i):
    im.set_array(frames[i].numpy())
    return im,


anim = animation.FuncAnimation(fig, update, frames=5, interval=50, blit=True)
plt.show()
