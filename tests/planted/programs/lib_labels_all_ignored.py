# engine: torch
# needs: transformers
# cause: no token is masked in the second batch, so all of its labels are -100 and the loss is 0 / 0
# line: loss = model(input_ids=ids.masked_fill(masked, 4), labels=labels).loss
# line: labels = ids.masked_fill(~masked, -100)
# must: nan
# must: -100|ignore|no element|nothing
# never: learning rate|lr=|diverges
# right: 0.15 * (step != 1) ==> 0.9
import torch
from transformers import BertConfig, BertForMaskedLM

torch.manual_seed(0)
config = BertConfig(
    vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, num_labels=3
)
model = BertForMaskedLM(config)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(3):
    ids = torch.randint(5, 50, (2, 6))
    masked = torch.rand(ids.shape) < 0.15 * (step != 1)
    labels = ids.masked_fill(~masked, -100)
    loss = model(input_ids=ids.masked_fill(masked, 4), labels=labels).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
