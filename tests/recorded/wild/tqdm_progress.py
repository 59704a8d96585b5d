from tqdm import tqdm, trange
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Linear(5, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
dataset = torch.utils.data.TensorDataset(torch.randn(20, 5), torch.randn(20, 1))
loader = torch.utils.data.DataLoader(dataset, batch_size=5)

for epoch in trange(2, desc='epochs'):
    pbar = tqdm(loader, total=len(loader), leave=False)
    losses = []
    for xb, yb in pbar:
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(xb), yb)
        loss.backward()
        opt.step()
        losses.append(loss.item())
        pbar.set_description(f'epoch {epoch}')
        pbar.set_postfix(loss=loss.item())
    print('mean loss %.4f' % (sum(losses) / len(losses)))
with tqdm(total=10) as bar:
    for i in range(5):
        bar.update(2)
    print(bar.n, bar.total)
print(sum(tqdm(range(4))), [i for i in tqdm([3, 1, 2], disable=True)])
tqdm.write('written')
