# engine: torch
# needs: transformers
# cause: the helper that pools sentences is decorated with no_grad, so only the head is trained
# line: @torch.no_grad()
# line: def encode(model, ids):
# line: return model(input_ids=ids).last_hidden_state.mean(1)
# must: no_grad
# never: vanishes|diverges|unused
import torch
from torch import nn
from transformers import BertConfig, BertModel

torch.manual_seed(0)
config = BertConfig(
    vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, num_labels=3
)
bert = BertModel(config, add_pooling_layer=False)
head = nn.Linear(32, 16)
opt = torch.optim.AdamW([*bert.parameters(), *head.parameters()], lr=1e-3)


@torch.no_grad()
def encode(model, ids):
    return model(input_ids=ids).last_hidden_state.mean(1)


for step in range(2):
    ids = torch.randint(0, 50, (6, 8))
    a, b = head(encode(bert, ids)), head(encode(bert, ids))
    scores = nn.functional.normalize(a, dim=-1) @ nn.functional.normalize(b, dim=-1).T / 0.1
    loss = nn.functional.cross_entropy(scores, torch.arange(6))
    opt.zero_grad()
    loss.backward()
    opt.step()
