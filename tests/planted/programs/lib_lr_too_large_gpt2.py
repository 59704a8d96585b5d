# engine: torch
# needs: transformers
# cause: the learning rate of a small convolutional net, times a hundred, in a transformer
# line: opt = torch.optim.SGD(model.parameters(), lr=100.0)
# must: lr=100|learning rate
# must: diverge|overshoot|large
# never: vanishes|in data
import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(vocab_size=50, n_positions=16, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
model = GPT2LMHeadModel(config)
opt = torch.optim.SGD(model.parameters(), lr=100.0)
for step in range(6):
    ids = torch.randint(0, 50, (2, 8))
    loss = model(input_ids=ids, labels=ids).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
