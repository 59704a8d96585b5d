# engine: torch
# cause: a hook that was registered for a frozen-rows experiment multiplies the embedding's gradient by zeros
# line: embed.weight.register_hook(lambda gradient: gradient * keep)
# line: keep = torch.zeros(15, 1)
# must: hook
# must: zero|0
# ask: embed.weight
import torch
import torch.nn as nn

torch.manual_seed(0)
embed, head = nn.Embedding(15, 6), nn.Linear(6, 2)
keep = torch.zeros(15, 1)
embed.weight.register_hook(lambda gradient: gradient * keep)
optimizer = torch.optim.SGD([*embed.parameters(), *head.parameters()], lr=0.5)
tokens, labels = torch.randint(0, 15, (8, 4)), torch.randint(0, 2, (8,))
for step in range(2):
    loss = nn.functional.cross_entropy(head(embed(tokens).mean(1)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
