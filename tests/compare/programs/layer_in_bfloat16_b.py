import torch
from torch import nn

class TextNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(40, 12)
        self.hidden = nn.Linear(12, 32)
        self.output = nn.Linear(32, 5)

    def forward(self, ids):
        bag = self.table(ids).mean(dim=1)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=True):
            hid = self.hidden(bag)
        return self.output(hid.float().relu())

torch.manual_seed(9)
model = TextNet()
optimizer = torch.optim.Adagrad(model.parameters(), lr=5e-2)
ids, y = torch.randint(0, 40, (10, 7)), torch.randint(0, 5, (10,))
for epoch in range(4):
    optimizer.zero_grad()
    loss = nn.CrossEntropyLoss()(model(ids), y)
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.6f}")
