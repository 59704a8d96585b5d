# Seeded recurrent and attention layers, noise, sampling, and the state of the generator
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(2, 5, 8)
for layer in (nn.RNN(8, 6, batch_first=True), nn.LSTM(8, 6, 2, dropout=0.2), nn.GRU(8, 6, bidirectional=True)):
    out, _ = layer(x)
    print(type(layer).__name__, out[0, 0])
attention = nn.MultiheadAttention(8, 2, dropout=0.1, batch_first=True)
out, weights = attention(x, x, x)
print(out[0, 0], weights[0, 0])
encoder = nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, batch_first=True)
print(encoder(x)[0, 0])
embedding = nn.Embedding(10, 4)
print(embedding(torch.randint(0, 10, (3,))))
probabilities = F.softmax(torch.randn(6), dim=0)
print(torch.multinomial(probabilities, 4, replacement=True), torch.multinomial(probabilities, 3))
print(torch.bernoulli(probabilities), torch.normal(torch.zeros(3), torch.ones(3)), torch.randperm(8))
state = torch.get_rng_state()
first = torch.randn(4)
torch.set_rng_state(state)
print(torch.equal(first, torch.randn(4)))
generator = torch.Generator().manual_seed(7)
print(torch.rand(2, generator=generator), torch.randint(0, 100, (5,), generator=generator), generator.initial_seed())
with torch.random.fork_rng():
    torch.manual_seed(1)
    print(torch.rand(2))
print(torch.rand(2))
weight = torch.empty(3, 5)
print(nn.init.xavier_uniform_(weight), nn.init.kaiming_normal_(weight), nn.init.trunc_normal_(weight, std=0.02), sep="\n")
