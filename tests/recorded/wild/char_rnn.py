# a character-level language model, in the manner of course notes
import string
import random
import torch
import torch.nn as nn
from torch.autograd import Variable

random.seed(3)
torch.manual_seed(3)
all_characters = string.ascii_lowercase + " .,"
n_characters = len(all_characters)
text = "the quick brown fox jumps over the lazy dog. the dog sleeps, the fox runs. " * 3
chunk_len = 20


def random_chunk():
    start_index = random.randint(0, len(text) - chunk_len - 1)
    return text[start_index:start_index + chunk_len + 1]


def char_tensor(s):
    tensor = torch.zeros(len(s)).long()
    for c in range(len(s)):
        tensor[c] = all_characters.index(s[c])
    return Variable(tensor)


class CharRNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size, n_layers=1):
        super(CharRNN, self).__init__()
        self.hidden_size = hidden_size
        self.n_layers = n_layers
        self.encoder = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, n_layers)
        self.decoder = nn.Linear(hidden_size, output_size)

    def forward(self, input, hidden):
        input = self.encoder(input.view(1, -1))
        output, hidden = self.gru(input.view(1, 1, -1), hidden)
        return self.decoder(output.view(1, -1)), hidden

    def init_hidden(self):
        return Variable(torch.zeros(self.n_layers, 1, self.hidden_size))


model = CharRNN(n_characters, 16, n_characters)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss()


def train(chunk):
    inp, target = char_tensor(chunk[:-1]), char_tensor(chunk[1:])
    hidden = model.init_hidden()
    model.zero_grad()
    loss = 0
    for c in range(chunk_len):
        output, hidden = model(inp[c], hidden)
        loss += criterion(output, target[c].unsqueeze(0))
    loss.backward()
    optimizer.step()
    return loss.item() / chunk_len


def evaluate(prime_str='t', predict_len=12):
    hidden = model.init_hidden()
    prime_input = char_tensor(prime_str)
    predicted = prime_str
    inp = prime_input[-1]
    for p in range(predict_len):
        output, hidden = model(inp, hidden)
        top_i = output.data.view(-1).topk(1)[1][0]
        predicted += all_characters[top_i]
        inp = char_tensor(all_characters[top_i])
    return predicted


for epoch in range(1, 13):
    loss = train(random_chunk())
    if epoch % 4 == 0:
        print('[%d %.3f] %r' % (epoch, loss, evaluate()))
