# engine: torch
# needs: transformers
# cause: .data cuts the encoder off; only the probe on top is trained
# line: pooled = encoder(input_ids=ids).last_hidden_state.data.mean(1)
# must: \.data
# never: vanishes|diverges
import torch
from torch import nn
from transformers import BertConfig, BertModel

torch.manual_seed(0)
config = BertConfig(
    vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, num_labels=3
)
encoder, probe = BertModel(config, add_pooling_layer=False), nn.Linear(32, 3)
opt = torch.optim.AdamW([*encoder.parameters(), *probe.parameters()], lr=1e-3)
for step in range(3):
    ids, labels = torch.randint(0, 50, (4, 8)), torch.randint(0, 3, (4,))
    pooled = encoder(input_ids=ids).last_hidden_state.data.mean(1)
    loss = nn.functional.cross_entropy(probe(pooled), labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
