# engine: torch
# needs: transformers
# cause: the warm-up's integer division gives 0 for the first hundred steps
# line: scheduler = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: step // 100)
# must: lr=0
# must: LambdaLR|scheduler
# never: was made with lr=0|diverges
# right: step // 100 ==> step / 100
import torch
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)
config = BertConfig(
    vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, num_labels=3
)
model = BertForSequenceClassification(config)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: step // 100)
for step in range(4):
    ids, labels = torch.randint(0, 50, (4, 8)), torch.randint(0, 3, (4,))
    loss = model(input_ids=ids, labels=labels).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    scheduler.step()
