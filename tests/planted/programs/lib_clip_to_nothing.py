# engine: torch
# needs: transformers
# cause: max_norm=0 makes every gradient 0
# line: torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=0)
# must: clip
# must: 0
# must: nothing|max_norm|clip_grad_norm_
# never: dead|vanishes|mask
# right: max_norm=0 ==> max_norm=1
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
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=0)
    opt.step()
