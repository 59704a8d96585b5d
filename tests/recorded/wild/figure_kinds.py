import numpy as np
import torch
import matplotlib
matplotlib.use('Agg')
import matplotlib.pyplot as plt
import matplotlib.patches as mpatches
from matplotlib import gridspec, ticker
from matplotlib.colors import ListedColormap

plt.style.use('ggplot')
plt.rcParams['figure.figsize'] = (10, 6)
plt.rcParams.update({'font.size': 9, 'lines.linewidth': 1.5})
np.random.seed(0)
x = np.linspace(0, 2 * np.pi, 50)
fig, ax = plt.subplots()
line, = ax.plot(x, np.sin(x), color='C0', label=r'$\sin x$')
ax.fill_between(x, 0, np.sin(x), alpha=0.2)
ax.axhline(0, color='k', lw=0.5); ax.set(xlabel='x', ylabel='y', title='sine')
ax.legend(loc='upper right'); ax.grid(True, which='both')
ax.spines['top'].set_visible(False)
ax.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
fig.savefig('sine.png', bbox_inches='tight')

fig, axes = plt.subplots(nrows=2, ncols=2, figsize=(8, 6), sharex=True)
print(axes.shape, len(axes), axes.flatten().shape)
for i, a in enumerate(axes.ravel()):
    counts, edges, patches = a.hist(np.random.randn(200), bins=10 + i)
    print(i, counts.sum(), len(edges))
for row in axes:
    for a in row:
        a.set_yticks([])
fig.suptitle('four'); fig.tight_layout(); plt.show()

gs = gridspec.GridSpec(2, 2)
fig = plt.figure(figsize=(4, 4))
for k in range(4):
    sub = fig.add_subplot(gs[k // 2, k % 2])
    sub.imshow(torch.rand(3, 3).numpy(), cmap='viridis', vmin=0, vmax=1)
    sub.set_title(f'{k}'); sub.axis('off')
im = sub.imshow(np.eye(3))
fig.colorbar(im, ax=sub, fraction=0.046)
X, Y = np.meshgrid(np.linspace(-1, 1, 5), np.linspace(-1, 1, 5))
plt.figure(); plt.contourf(X, Y, X ** 2 + Y ** 2, levels=8, cmap=ListedColormap(['r', 'g', 'b']))
plt.quiver(X, Y, -X, -Y); plt.xlim(-1, 1); plt.yscale('linear'); plt.xticks(rotation=45)
plt.gca().add_patch(mpatches.Circle((0, 0), 0.5, fill=False)); plt.gca().set_aspect('equal')
bars = plt.bar(['a', 'b', 'c'], [1, 2, 3], color=plt.cm.rainbow(np.linspace(0, 1, 3)))
for bar in bars:
    plt.text(bar.get_x() + bar.get_width() / 2, bar.get_height() + 0.1, 'v', ha='center')
with plt.style.context('dark_background'):
    plt.scatter(x, np.cos(x), c=x, s=5)
plt.savefig('all.pdf'); plt.close('all')
print(len(bars), line is not None)
