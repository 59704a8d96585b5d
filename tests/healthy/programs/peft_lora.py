import torch
from peft import LoraConfig, get_peft_model
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)
config = BertConfig(
    vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, num_labels=3
)
base = BertForSequenceClassification(config)
model = get_peft_model(base, LoraConfig(task_type="SEQ_CLS", r=4, target_modules=["query", "value"]))
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
ids, labels = torch.randint(0, 50, (4, 8)), torch.randint(0, 3, (4,))
loss = model(input_ids=ids, labels=labels).loss
loss.backward()
opt.step()
opt.zero_grad()
