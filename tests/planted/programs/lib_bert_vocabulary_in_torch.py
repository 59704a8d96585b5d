# engine: torch
# needs: transformers
# cause: token ids up to 119 for a vocabulary of 100
# line: ids, labels = torch.randint(0, 120, (8, 12)), torch.randint(0, 3, (8,))
# must: ids, made on line \d+, goes up to 119
# must: word_embeddings has 100 rows
# never: token_type
# right: (0, 120, ==> (0, 100,
import torch
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)
model = BertForSequenceClassification(
    BertConfig(
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        vocab_size=100,
        num_labels=3,
    )
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(3):
    ids, labels = torch.randint(0, 120, (8, 12)), torch.randint(0, 3, (8,))
    loss = model(input_ids=ids, labels=labels).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
