import torch
from transformers import T5Config, T5ForConditionalGeneration

torch.manual_seed(0)
config = T5Config(vocab_size=50, d_model=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2, decoder_start_token_id=0)
model = T5ForConditionalGeneration(config)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(2):
    ids, labels = torch.randint(0, 50, (4, 8)), torch.randint(0, 50, (4, 6))
    loss = model(input_ids=ids, labels=labels).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
