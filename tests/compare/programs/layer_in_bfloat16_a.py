import torch
import torch.nn as nn

torch.manual_seed(9)
emb = nn.EmbeddingBag(40, 12, mode="mean")
l1, l2 = nn.Linear(12, 32), nn.Linear(32, 5)
opt = torch.optim.Adagrad([*emb.parameters(), *l1.parameters(), *l2.parameters()], lr=0.05)
docs = torch.randint(0, 40, (10, 7))
topic = torch.randint(0, 5, (10,))
for step in range(4):
    h = torch.relu(l1(emb(docs)))
    loss = nn.functional.cross_entropy(l2(h), topic)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"{loss.item():.6f}")
