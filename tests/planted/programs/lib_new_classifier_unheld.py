# engine: torch
# needs: transformers
# cause: the classifier is replaced after the optimiser was made
# line: net.classifier = nn.Linear(16, 5)
# line: adam = torch.optim.Adam(net.parameters(), lr=1e-3)
# must: optimiser
# must: classifier
# never: diverges|vanishes|zero_grad\(\) before
# right: adam = torch.optim.Adam(net.parameters(), lr=1e-3)\nnet.classifier = nn.Linear(16, 5) ==> net.classifier = nn.Linear(16, 5)\nadam = torch.optim.Adam(net.parameters(), lr=1e-3)
import torch
import transformers

from torch import nn

torch.manual_seed(0)
config = transformers.DistilBertConfig(vocab_size=40, dim=16, hidden_dim=24, n_layers=1, n_heads=2, max_position_embeddings=16)
net = transformers.DistilBertForSequenceClassification(config)
adam = torch.optim.Adam(net.parameters(), lr=1e-3)
net.classifier = nn.Linear(16, 5)
for step in range(3):
    ids, y = torch.randint(0, 40, (4, 8)), torch.randint(0, 5, (4,))
    loss = nn.functional.cross_entropy(net(input_ids=ids).logits, y)
    adam.zero_grad()
    loss.backward()
    adam.step()
