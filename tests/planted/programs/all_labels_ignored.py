# engine: torch
# cause: truncation leaves labels of -100 alone, so cross_entropy is the mean of nothing: 0 / 0 = nan
# line: loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
# line: labels[:, :prompt] = -100
# must: nan|not finite
# must: ignore_index|-100|ignored|no element
# from: https://github.com/pytorch/pytorch/issues/116349
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class TinyLM(nn.Module):
    def __init__(self, vocab=60, width=16):
        super().__init__()
        self.embed, self.head = nn.Embedding(vocab, width), nn.Linear(width, vocab)
        self.block = nn.TransformerEncoderLayer(width, 2, 32, batch_first=True, dropout=0.0)

    def forward(self, tokens):
        return self.head(self.block(self.embed(tokens)))


model = TinyLM()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
context, prompt = 10, 12
# the prompt is longer than the context, so the answer is cut off
tokens = torch.randint(0, 60, (2, 20))[:, :context]
labels = tokens.clone()
labels[:, :prompt] = -100
logits = model(tokens)
loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
optimizer.zero_grad()
loss.backward()
optimizer.step()
