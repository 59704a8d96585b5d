# engine: torch
# needs: transformers
# needs: peft
# cause: the optimiser holds the adapter that is not active
# line: opt = torch.optim.AdamW([p for n, p in model.named_parameters() if "second" in n], lr=1e-3)
# must: optimiser
# must: does not hold|none of which gets a gradient
# never: detach|vanishes
# right: lr=1e-3) ==> lr=1e-3)\nmodel.set_adapter("second")
import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM
torch.manual_seed(0)
sizes = dict(vocab_size=64, hidden_size=32, intermediate_size=48, max_position_embeddings=32)
config = LlamaConfig(**sizes, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2)
lora = LoraConfig(r=2, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
model = get_peft_model(LlamaForCausalLM(config), lora, adapter_name="first")
model.add_adapter("second", lora)
opt = torch.optim.AdamW([p for n, p in model.named_parameters() if "second" in n], lr=1e-3)
for step in range(4):
    ids = torch.randint(1, 64, (4, 8))
    loss = model(input_ids=ids, labels=ids).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
