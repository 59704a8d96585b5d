import torch
import torch.nn as nn
import torch.utils.data as Data
import matplotlib.pyplot as plt
from mpl_toolkits.mplot3d import Axes3D
from matplotlib import cm
import numpy as np

torch.manual_seed(1)
EPOCH = 4
N_TEST_IMG = 3
data = torch.rand(40, 36)
loader = Data.DataLoader(dataset=data, batch_size=10, shuffle=True)


class AutoEncoder(nn.Module):
    def __init__(self):
        super(AutoEncoder, self).__init__()
        self.encoder = nn.Sequential(nn.Linear(36, 12), nn.Tanh(), nn.Linear(12, 3))
        self.decoder = nn.Sequential(nn.Linear(3, 12), nn.Tanh(), nn.Linear(12, 36), nn.Sigmoid())

    def forward(self, x):
        encoded = self.encoder(x)
        return encoded, self.decoder(encoded)


autoencoder = AutoEncoder()
optimizer = torch.optim.Adam(autoencoder.parameters(), lr=0.005)
loss_func = nn.MSELoss()
f, a = plt.subplots(2, N_TEST_IMG, figsize=(5, 2))
plt.ion()
view_data = data[:N_TEST_IMG]
for i in range(N_TEST_IMG):
    a[0][i].imshow(np.reshape(view_data.data.numpy()[i], (6, 6)), cmap='gray')
    a[0][i].set_xticks(()); a[0][i].set_yticks(())
for epoch in range(EPOCH):
    for step, x in enumerate(loader):
        encoded, decoded = autoencoder(x)
        loss = loss_func(decoded, x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 2 == 0:
            print('Epoch: ', epoch, '| step: ', step, '| train loss: %.4f' % loss.data.numpy())
            _, decoded_data = autoencoder(view_data)
            for i in range(N_TEST_IMG):
                a[1][i].clear()
                a[1][i].imshow(np.reshape(decoded_data.data.numpy()[i], (6, 6)), cmap='gray')
            plt.draw()
plt.ioff()
fig = plt.figure(2)
ax = fig.add_subplot(111, projection='3d')
X, Y, Z = (encoded.data[:, k].numpy() for k in range(3))
for x, y, z, s in zip(X, Y, Z, range(10)):
    c = cm.rainbow(int(255 * s / 9))
    ax.text(x, y, z, s, backgroundcolor=c)
ax.set_xlim(X.min(), X.max()); ax.set_ylim(Y.min(), Y.max()); ax.set_zlim(Z.min(), Z.max())
plt.show()
print(encoded.shape)
