# engine: torch
# needs: transformers
# cause: the optimizer gets the parameters of the encoder alone; the classifier stays as it was initialised
# line: opt = torch.optim.AdamW(model.bert.parameters(), lr=1e-3)
# must: optimi[sz]er
# must: classifier
# must: does not hold|not held|no optimi[sz]er|without|never change
# never: gradients are not zeroed|diverges|vanishes
# right: model.bert.parameters() ==> model.parameters()
import torch
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)
config = BertConfig(
    vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, num_labels=3
)
model = BertForSequenceClassification(config)
opt = torch.optim.AdamW(model.bert.parameters(), lr=1e-3)
for step in range(4):
    ids, labels = torch.randint(0, 50, (4, 8)), torch.randint(0, 3, (4,))
    loss = model(input_ids=ids, labels=labels).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
