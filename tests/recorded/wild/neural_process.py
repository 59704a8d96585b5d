import torch
from torch import nn
from torch.nn import functional as F
from torch.distributions import Normal
from torch.distributions.kl import kl_divergence
from random import randint
import random


class Encoder(nn.Module):
    """Maps an (x_i, y_i) pair to a representation r_i."""
    def __init__(self, x_dim, y_dim, h_dim, r_dim):
        super(Encoder, self).__init__()
        layers = [nn.Linear(x_dim + y_dim, h_dim),
                  nn.ReLU(inplace=True),
                  nn.Linear(h_dim, r_dim)]
        self.input_to_hidden = nn.Sequential(*layers)

    def forward(self, x, y):
        input_pairs = torch.cat((x, y), dim=1)
        return self.input_to_hidden(input_pairs)


class MuSigmaEncoder(nn.Module):
    def __init__(self, r_dim, z_dim):
        super(MuSigmaEncoder, self).__init__()
        self.r_to_hidden = nn.Linear(r_dim, r_dim)
        self.hidden_to_mu = nn.Linear(r_dim, z_dim)
        self.hidden_to_sigma = nn.Linear(r_dim, z_dim)

    def forward(self, r):
        hidden = torch.relu(self.r_to_hidden(r))
        mu = self.hidden_to_mu(hidden)
        sigma = 0.1 + 0.9 * torch.sigmoid(self.hidden_to_sigma(hidden))
        return mu, sigma


class Decoder(nn.Module):
    def __init__(self, x_dim, z_dim, h_dim, y_dim):
        super(Decoder, self).__init__()
        self.x_dim, self.z_dim, self.y_dim = x_dim, z_dim, y_dim
        layers = [nn.Linear(x_dim + z_dim, h_dim), nn.ReLU(inplace=True),
                  nn.Linear(h_dim, h_dim), nn.ReLU(inplace=True)]
        self.xz_to_hidden = nn.Sequential(*layers)
        self.hidden_to_mu = nn.Linear(h_dim, y_dim)
        self.hidden_to_sigma = nn.Linear(h_dim, y_dim)

    def forward(self, x, z):
        batch_size, num_points, _ = x.size()
        z = z.unsqueeze(1).repeat(1, num_points, 1)
        x_flat = x.view(batch_size * num_points, self.x_dim)
        z_flat = z.view(batch_size * num_points, self.z_dim)
        input_pairs = torch.cat((x_flat, z_flat), dim=1)
        hidden = self.xz_to_hidden(input_pairs)
        mu = self.hidden_to_mu(hidden)
        pre_sigma = self.hidden_to_sigma(hidden)
        mu = mu.view(batch_size, num_points, self.y_dim)
        pre_sigma = pre_sigma.view(batch_size, num_points, self.y_dim)
        sigma = 0.1 + 0.9 * F.softplus(pre_sigma)
        return mu, sigma


class NeuralProcess(nn.Module):
    def __init__(self, x_dim, y_dim, r_dim, z_dim, h_dim):
        super(NeuralProcess, self).__init__()
        self.r_dim = r_dim
        self.xy_to_r = Encoder(x_dim, y_dim, h_dim, r_dim)
        self.r_to_mu_sigma = MuSigmaEncoder(r_dim, z_dim)
        self.xz_to_y = Decoder(x_dim, z_dim, h_dim, y_dim)

    def xy_to_mu_sigma(self, x, y):
        batch_size, num_points, x_dim = x.size()
        _, _, y_dim = y.size()
        x_flat = x.view(batch_size * num_points, x_dim)
        y_flat = y.contiguous().view(batch_size * num_points, y_dim)
        r_i = self.xy_to_r(x_flat, y_flat).view(batch_size, num_points, self.r_dim)
        return self.r_to_mu_sigma(torch.mean(r_i, dim=1))

    def forward(self, x_context, y_context, x_target, y_target=None):
        mu_target, sigma_target = self.xy_to_mu_sigma(x_target, y_target)
        mu_context, sigma_context = self.xy_to_mu_sigma(x_context, y_context)
        q_target = Normal(mu_target, sigma_target)
        q_context = Normal(mu_context, sigma_context)
        z_sample = q_target.rsample()
        y_pred_mu, y_pred_sigma = self.xz_to_y(x_target, z_sample)
        p_y_pred = Normal(y_pred_mu, y_pred_sigma)
        return p_y_pred, q_target, q_context


def context_target_split(x, y, num_context, num_extra_target):
    num_points = x.shape[1]
    locations = random.sample(range(num_points), num_context + num_extra_target)
    x_context = x[:, locations[:num_context], :]
    y_context = y[:, locations[:num_context], :]
    return x_context, y_context, x[:, locations, :], y[:, locations, :]


random.seed(0)
torch.manual_seed(0)
x = torch.linspace(-3.14, 3.14, 20).view(1, 20, 1).repeat(4, 1, 1)
y = torch.rand(4, 1, 1) * torch.sin(x - torch.rand(4, 1, 1))
neuralprocess = NeuralProcess(1, 1, 8, 8, 8)
optimizer = torch.optim.Adam(neuralprocess.parameters(), lr=3e-4)
for epoch in range(3):
    optimizer.zero_grad()
    num_context, num_extra_target = randint(4, 8), randint(4, 8)
    x_c, y_c, x_t, y_t = context_target_split(x, y, num_context, num_extra_target)
    p_y_pred, q_target, q_context = neuralprocess(x_c, y_c, x_t, y_t)
    log_likelihood = p_y_pred.log_prob(y_t).mean(dim=0).sum()
    kl = kl_divergence(q_target, q_context).mean(dim=0).sum()
    loss = -log_likelihood + kl
    loss.backward()
    optimizer.step()
    print("iteration {}, loss {:.3f}".format(epoch, loss.item()))
print(p_y_pred, q_target.loc.shape)
