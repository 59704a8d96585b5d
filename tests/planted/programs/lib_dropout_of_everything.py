# engine: torch
# needs: transformers
# cause: classifier_dropout=1.0 drops everything in front of the classifier
# line: loss = model(input_ids=ids, labels=torch.randint(0, 2, (4,))).loss
# must: dropped every element
# must: lower p
# never: dead relu|vanishes|mask|look at pooled_output
# right: classifier_dropout=1.0 ==> classifier_dropout=0.1
import torch
from transformers import BertConfig, BertForSequenceClassification
torch.manual_seed(0)
sizes = dict(vocab_size=100, hidden_size=32, intermediate_size=64, max_position_embeddings=32)
config = BertConfig(**sizes, num_hidden_layers=2, num_attention_heads=2, classifier_dropout=1.0)
model = BertForSequenceClassification(config)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(3):
    ids = torch.randint(0, 100, (4, 8))
    loss = model(input_ids=ids, labels=torch.randint(0, 2, (4,))).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
