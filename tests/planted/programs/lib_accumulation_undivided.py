# engine: torch
# needs: transformers
# cause: the losses of four micro-batches are added up, not averaged: the step is four times as large
# line: loss.backward()
# line: loss = model(input_ids=ids, labels=labels).loss
# must: 4 (passes|micro|backward)|undivided|divi
# must: / 4|divi
# never: not zeroed|never clear|diverges
# right: loss.backward() ==> (loss / accumulation_steps).backward()
import torch
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)
config = BertConfig(
    vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, num_labels=3
)
model = BertForSequenceClassification(config)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
accumulation_steps = 4
for i in range(8):
    ids, labels = torch.randint(0, 50, (2, 8)), torch.randint(0, 3, (2,))
    loss = model(input_ids=ids, labels=labels).loss
    loss.backward()
    if (i + 1) % accumulation_steps == 0:
        opt.step()
        opt.zero_grad()
