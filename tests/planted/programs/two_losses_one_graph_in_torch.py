# engine: torch
# cause: two losses share the encoder's graph, which the first backward has freed
# line: loss_recon.backward()
# must: second time|freed|frees
# must: retain_graph|sum|\+|one backward|together
import torch
import torch.nn as nn

torch.manual_seed(0)
encoder, decoder, classifier = nn.Linear(10, 6), nn.Linear(6, 10), nn.Linear(6, 3)
parameters = [*encoder.parameters(), *decoder.parameters(), *classifier.parameters()]
optimizer = torch.optim.Adam(parameters, lr=1e-3)
x, y = torch.randn(16, 10), torch.randint(0, 3, (16,))
for epoch in range(2):
    code = torch.tanh(encoder(x))
    loss_recon = nn.functional.mse_loss(decoder(code), x)
    loss_class = nn.functional.cross_entropy(classifier(code), y)
    optimizer.zero_grad()
    loss_recon.backward()
    loss_class.backward()
    optimizer.step()
