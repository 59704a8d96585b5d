# engine: torch
# needs: transformers
# ask: model.lm_head.weight
# cause: the output layer shares its weight with the embeddings, which are frozen
# line: model.transformer.wte.weight.requires_grad_(False)
# must: None
# must: requires_grad|frozen
# must: wte
# never: no such name|detach
import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(vocab_size=50, n_positions=16, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
model = GPT2LMHeadModel(config)
model.transformer.wte.weight.requires_grad_(False)
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
for step in range(2):
    ids = torch.randint(0, 50, (2, 8))
    loss = model(input_ids=ids, labels=ids).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
