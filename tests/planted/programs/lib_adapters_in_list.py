# engine: torch
# needs: transformers
# cause: the adapters are in a plain list, so parameters() does not find them
# line: self.adapters = [nn.Linear(32, 32) for _ in range(2)]
# must: plain list|ModuleList
# must: adapters
# never: zeroed between|diverges|vanishes
import torch
from torch import nn
from transformers import BertConfig, BertModel


class Adapted(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.bert = BertModel(config, add_pooling_layer=False).requires_grad_(False)
        self.adapters = [nn.Linear(32, 32) for _ in range(2)]
        self.head = nn.Linear(32, 3)

    def forward(self, ids):
        h = self.bert(input_ids=ids).last_hidden_state[:, 0]
        for adapter in self.adapters:
            h = h + torch.tanh(adapter(h))
        return self.head(h)


torch.manual_seed(0)
config = BertConfig(
    vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, num_labels=3
)
model = Adapted(config)
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
for step in range(3):
    ids, labels = torch.randint(0, 50, (4, 8)), torch.randint(0, 3, (4,))
    loss = nn.functional.cross_entropy(model(ids), labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
