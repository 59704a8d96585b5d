"""A Llama with tied embeddings that are made larger before the optimiser."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM
torch.manual_seed(0)
sizes = dict(vocab_size=64, hidden_size=32, intermediate_size=48, max_position_embeddings=32)
config = LlamaConfig(
    **sizes, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2, tie_word_embeddings=True, pad_token_id=0
)
model = LlamaForCausalLM(config)
model.resize_token_embeddings(80, mean_resizing=False)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(4):
    ids = torch.randint(1, 64, (4, 8))
    loss = model(input_ids=ids, labels=ids).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
