# engine: torch
# needs: transformers
# cause: the sum of the losses for the log keeps the graph of every step
# line: total += loss
# must: total
# must: history|graph
# must: item\(\)|detach
# never: diverges|vanishes
# right: total += loss ==> total += loss.item()
import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(vocab_size=50, n_positions=16, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
model = GPT2LMHeadModel(config)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
total = 0.0
for step in range(4):
    ids = torch.randint(0, 50, (2, 8))
    loss = model(input_ids=ids, labels=ids).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += loss
print(float(total) / 4)
