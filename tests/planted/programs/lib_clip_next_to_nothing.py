# engine: torch
# needs: transformers
# cause: max_norm=1e-9 leaves so little of the gradients that no parameter moves
# line: torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1e-9)
# must: clip_grad_norm_
# must: from 3.\d+ to 1e-9
# never: dead|vanishes|mask
# right: max_norm=1e-9 ==> max_norm=1.0
import torch
from transformers import GPT2Config, GPT2LMHeadModel
torch.manual_seed(0)
config = GPT2Config(vocab_size=50, n_positions=16, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
model = GPT2LMHeadModel(config)
opt = torch.optim.SGD(model.parameters(), lr=1e-2)
for step in range(3):
    ids = torch.randint(0, 50, (2, 8))
    loss = model(input_ids=ids, labels=ids).loss
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1e-9)
    opt.step()
