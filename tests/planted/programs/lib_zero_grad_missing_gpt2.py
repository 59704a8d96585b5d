# engine: torch
# needs: transformers
# cause: nothing clears the gradients, so each step uses the sum of all before
# line: loss.backward()
# line: opt.step()
# must: zero_grad
# must: accumulate|added|sum
# never: diverges|vanishes
import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(vocab_size=50, n_positions=16, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
model = GPT2LMHeadModel(config)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(3):
    ids = torch.randint(0, 50, (2, 8))
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    opt.step()
