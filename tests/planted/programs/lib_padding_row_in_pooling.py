# engine: torch
# needs: transformers
# cause: one row of the batch is padding alone, and the mean over its tokens divides by 0
# line: pooled = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
# must: nan
# must: div|0 by 0|0 / 0
# never: learning rate|lr=
import torch
from torch import nn
from transformers import BertConfig, BertModel

torch.manual_seed(0)
config = BertConfig(
    vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, num_labels=3
)
encoder, head = BertModel(config, add_pooling_layer=False), nn.Linear(32, 2)
opt = torch.optim.AdamW([*encoder.parameters(), *head.parameters()], lr=1e-3)
for step in range(3):
    ids, labels = torch.randint(0, 50, (3, 6)), torch.tensor([0, 1, 1])
    lengths = torch.tensor([[6], [4], [0 if step == 1 else 3]])
    mask = (torch.arange(6) < lengths).float()
    hidden = encoder(input_ids=ids).last_hidden_state
    pooled = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    loss = nn.functional.cross_entropy(head(pooled), labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
