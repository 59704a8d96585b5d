# engine: torch
# needs: transformers
# cause: evaluate() calls model.eval(), and nothing calls model.train() again: the second epoch runs without dropout
# line: model.eval()
# must: eval
# must: train\(\)
# must: dropout|evaluation mode
# never: diverges|vanishes|learning rate
# right:     for start in (0, 4): ==>     model.train()\n    for start in (0, 4):
import torch
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)
config = BertConfig(
    vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, num_labels=3
)
model = BertForSequenceClassification(config)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
ids, labels = torch.randint(0, 50, (12, 8)), torch.randint(0, 3, (12,))


def evaluate():
    model.eval()
    with torch.no_grad():
        logits = model(input_ids=ids[8:]).logits
    return (logits.argmax(-1) == labels[8:]).float().mean().item()


model.train()
for epoch in range(2):
    for start in (0, 4):
        loss = model(input_ids=ids[start : start + 4], labels=labels[start : start + 4]).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item(), evaluate())
