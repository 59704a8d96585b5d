# engine: torch
# cause: the schedule's weight of the auxiliary loss is 0 in integer division, so its head gets zero gradients
# line: weight = min(1, step // warmup)
# line: loss = main + weight * aux
# must: aux|weight
# must: zero|0
# ask: aux_head.weight
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
body, main_head, aux_head = nn.Linear(8, 16), nn.Linear(16, 3), nn.Linear(16, 2)
parameters = [*body.parameters(), *main_head.parameters(), *aux_head.parameters()]
optimizer = torch.optim.SGD(parameters, lr=0.1)
x, y, z = torch.randn(32, 8), torch.randint(0, 3, (32,)), torch.randint(0, 2, (32,))
warmup = 100
for step in range(4):
    h = torch.relu(body(x))
    main, aux = F.cross_entropy(main_head(h), y), F.cross_entropy(aux_head(h), z)
    weight = min(1, step // warmup)
    loss = main + weight * aux
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
