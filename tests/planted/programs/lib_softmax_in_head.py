# engine: torch
# needs: transformers
# cause: the new head ends with a softmax, and the library's loss takes another one
# line: model.classifier = nn.Sequential(nn.Linear(32, 3), nn.Softmax(dim=-1))
# line: loss = model(input_ids=ids, labels=labels).loss
# must: softmax
# must: twice|already|logits
# never: diverges|vanishes
# right: nn.Sequential(nn.Linear(32, 3), nn.Softmax(dim=-1)) ==> nn.Linear(32, 3)
import torch
from torch import nn
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)
config = BertConfig(
    vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, num_labels=3
)
model = BertForSequenceClassification(config)
model.classifier = nn.Sequential(nn.Linear(32, 3), nn.Softmax(dim=-1))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(3):
    ids, labels = torch.randint(0, 50, (4, 8)), torch.randint(0, 3, (4,))
    loss = model(input_ids=ids, labels=labels).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
