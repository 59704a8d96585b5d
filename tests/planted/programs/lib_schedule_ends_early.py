# engine: torch
# needs: transformers
# cause: the schedule counts epochs, but is stepped for every batch: after two steps lr is 0
# line: scheduler = get_linear_schedule_with_warmup(opt, num_warmup_steps=0, num_training_steps=epochs)
# must: lr=0|lr is 0
# must: schedule
# never: diverges|vanishes|was made with lr=0
# right: num_training_steps=epochs ==> num_training_steps=epochs * len(batches)
import torch
from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup

torch.manual_seed(0)
config = GPT2Config(vocab_size=50, n_positions=16, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
model = GPT2LMHeadModel(config)
epochs, batches = 2, torch.randint(0, 50, (3, 2, 8))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = get_linear_schedule_with_warmup(opt, num_warmup_steps=0, num_training_steps=epochs)
for epoch in range(epochs):
    for ids in batches:
        loss = model(input_ids=ids, labels=ids).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        scheduler.step()
