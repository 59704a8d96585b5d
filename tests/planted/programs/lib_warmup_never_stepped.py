# engine: torch
# needs: transformers
# cause: the warm-up starts at 0, and the loop never steps the schedule
# line: schedule = get_linear_schedule_with_warmup(opt, 10, 100)
# must: lr=0
# must: schedule.step\(\) did not run
# never: dead|vanishes|fewer steps
# right: opt.step() ==> opt.step()\n    schedule.step()
import torch
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup
torch.manual_seed(0)
sizes = dict(vocab_size=100, hidden_size=32, intermediate_size=64, max_position_embeddings=32)
config = BertConfig(**sizes, num_hidden_layers=2, num_attention_heads=2)
model = BertForSequenceClassification(config)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = get_linear_schedule_with_warmup(opt, 10, 100)
for step in range(3):
    ids = torch.randint(0, 100, (4, 8))
    loss = model(input_ids=ids, labels=torch.randint(0, 2, (4,))).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
