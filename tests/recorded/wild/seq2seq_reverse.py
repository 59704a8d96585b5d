import random
import torch
import torch.nn as nn
import torch.nn.functional as F

SOS, EOS = 0, 1
random.seed(0)
torch.manual_seed(0)


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size)

    def forward(self, input, hidden):
        embedded = self.embedding(input).view(1, 1, -1)
        return self.gru(embedded, hidden)

    def initHidden(self):
        return torch.zeros(1, 1, self.hidden_size)


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size, dropout_p=0.0, max_length=5):
        super().__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.attn = nn.Linear(hidden_size * 2, max_length)
        self.attn_combine = nn.Linear(hidden_size * 2, hidden_size)
        self.dropout = nn.Dropout(dropout_p)
        self.gru = nn.GRU(hidden_size, hidden_size)
        self.out = nn.Linear(hidden_size, output_size)

    def forward(self, input, hidden, encoder_outputs):
        embedded = self.dropout(self.embedding(input).view(1, 1, -1))
        attn_weights = F.softmax(self.attn(torch.cat((embedded[0], hidden[0]), 1)), dim=1)
        attn_applied = torch.bmm(attn_weights.unsqueeze(0), encoder_outputs.unsqueeze(0))
        output = F.relu(self.attn_combine(torch.cat((embedded[0], attn_applied[0]), 1)).unsqueeze(0))
        output, hidden = self.gru(output, hidden)
        return F.log_softmax(self.out(output[0]), dim=1), hidden, attn_weights


encoder, decoder = EncoderRNN(6, 8), AttnDecoderRNN(8, 6)
optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (encoder, decoder)]
criterion = nn.NLLLoss()
teacher_forcing_ratio = 0.5


def train(inp, target):
    hidden = encoder.initHidden()
    for o in optimizers:
        o.zero_grad()
    outputs = torch.zeros(5, 8)
    for ei in range(inp.size(0)):
        out, hidden = encoder(inp[ei], hidden)
        outputs[ei] = out[0, 0]
    decoder_input, loss = torch.tensor([[SOS]]), 0
    use_teacher_forcing = True if random.random() < teacher_forcing_ratio else False
    for di in range(target.size(0)):
        out, hidden, _ = decoder(decoder_input, hidden, outputs)
        loss += criterion(out, target[di])
        topv, topi = out.topk(1)
        decoder_input = target[di] if use_teacher_forcing else topi.squeeze().detach()
        if decoder_input.item() == EOS:
            break
    loss.backward()
    for o in optimizers:
        o.step()
    return loss.item() / target.size(0)


total = 0
for it in range(1, 61):
    seq = [random.randint(2, 5) for _ in range(3)]
    total += train(torch.tensor(seq + [EOS]).view(-1, 1), torch.tensor(seq[::-1] + [EOS]).view(-1, 1))
    if it % 20 == 0:
        print('%d %.3f' % (it, total / 20))
        total = 0
