import torch
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)
config = BertConfig(vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, num_labels=3)
model = BertForSequenceClassification(config)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(2):
    ids, labels = torch.randint(0, 50, (4, 8)), torch.randint(0, 3, (4,))
    mask = torch.ones_like(ids)
    mask[0, 5:] = 0
    loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
