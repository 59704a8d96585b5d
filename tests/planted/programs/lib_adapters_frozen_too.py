# engine: torch
# needs: transformers peft
# cause: the loop that freezes the base model freezes the adapters too
# line: p.requires_grad = False
# must: lora_
# never: tuners_utils
import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
model = get_peft_model(
    GPT2LMHeadModel(GPT2Config(vocab_size=100, n_positions=32, n_embd=32, n_layer=2, n_head=4)),
    LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True, task_type="CAUSAL_LM"),
)
for p in model.parameters():
    p.requires_grad = False
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
ids = torch.randint(0, 100, (2, 10))
loss = model(input_ids=ids, labels=ids).loss
loss.backward()
optimizer.step()
