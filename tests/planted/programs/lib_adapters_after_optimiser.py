# engine: torch
# needs: transformers peft
# cause: the optimizer is made before the adapters, so it holds the frozen weights alone
# line: opt = torch.optim.AdamW(base.parameters(), lr=1e-3)
# line: model = get_peft_model(base, LoraConfig(r=4, target_modules=["query", "value"]))
# must: optimi[sz]er
# must: lora
# must: does not hold|not hold|before|never change|without
# never: diverges|zeroed between
# right: opt = torch.optim.AdamW(base.parameters(), lr=1e-3)\nmodel = get_peft_model(base, LoraConfig(r=4, target_modules=["query", "value"])) ==> model = get_peft_model(base, LoraConfig(r=4, target_modules=["query", "value"]))\nopt = torch.optim.AdamW(model.parameters(), lr=1e-3)
import torch
from peft import LoraConfig, get_peft_model
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)
config = BertConfig(
    vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, num_labels=3
)
base = BertForSequenceClassification(config)
opt = torch.optim.AdamW(base.parameters(), lr=1e-3)
model = get_peft_model(base, LoraConfig(r=4, target_modules=["query", "value"]))
for step in range(3):
    ids, labels = torch.randint(0, 50, (4, 8)), torch.randint(0, 3, (4,))
    loss = model(input_ids=ids, labels=labels).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
