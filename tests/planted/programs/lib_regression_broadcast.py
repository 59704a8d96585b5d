# engine: torch
# needs: transformers
# cause: the logits have the shape (n, 1) and the scores (n,), so each is compared with each
# line: loss = torch.nn.functional.mse_loss(logits, scores)
# must: broadcast
# must: \(4, 4\)|squeeze
# never: diverges|vanishes
# right: mse_loss(logits, scores) ==> mse_loss(logits.squeeze(1), scores)
import torch
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)
config = BertConfig(
    vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, num_labels=3
)
config.num_labels = 1
model = BertForSequenceClassification(config)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(3):
    ids, scores = torch.randint(0, 50, (4, 8)), torch.rand(4)
    logits = model(input_ids=ids).logits
    loss = torch.nn.functional.mse_loss(logits, scores)
    opt.zero_grad()
    loss.backward()
    opt.step()
