# engine: torch
# needs: transformers
# cause: the filter has a typing error, so it chooses no parameter
# line: opt = torch.optim.AdamW([p for n, p in model.named_parameters() if "clasifier" in n], lr=1e-3)
# must: empty
# must: parameter
# never: learning rate|vanishes
import torch
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)
config = BertConfig(
    vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, num_labels=3
)
model = BertForSequenceClassification(config)
opt = torch.optim.AdamW([p for n, p in model.named_parameters() if "clasifier" in n], lr=1e-3)
ids, labels = torch.randint(0, 50, (4, 8)), torch.randint(0, 3, (4,))
loss = model(input_ids=ids, labels=labels).loss
loss.backward()
opt.step()
