# engine: torch
# needs: transformers
# cause: the gradients are cleared between backward and the step
# line: opt.zero_grad()
# must: clear
# must: before
# never: diverges|vanishes
import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=50, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1, intermediate_size=48
)
model = LlamaForCausalLM(config)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(3):
    ids = torch.randint(0, 50, (2, 8))
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    opt.zero_grad()
    opt.step()
