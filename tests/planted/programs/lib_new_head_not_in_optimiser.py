# engine: torch
# needs: transformers
# cause: the classifier for five classes is made after the optimizer, which holds the old one's tensors
# line: opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
# line: model.classifier = nn.Linear(32, 5)
# must: optimi[sz]er
# must: classifier
# must: before|old|does not hold|replace
# never: zeroed between passes|diverges
import torch
from torch import nn
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)
config = BertConfig(
    vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, num_labels=3
)
model = BertForSequenceClassification(config)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
model.classifier = nn.Linear(32, 5)
model.num_labels = model.config.num_labels = 5
for step in range(3):
    ids, labels = torch.randint(0, 50, (4, 8)), torch.randint(0, 5, (4,))
    loss = model(input_ids=ids, labels=labels).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
