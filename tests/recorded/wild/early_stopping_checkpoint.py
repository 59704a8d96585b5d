import copy
import logging
import sys
import torch
from torch import nn

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format='%(levelname)s - %(message)s')
logger = logging.getLogger(__name__)


class EarlyStopping:
    def __init__(self, patience=3, delta=0.0):
        self.patience, self.delta = patience, delta
        self.counter, self.best, self.best_state = 0, float('inf'), None

    def __call__(self, val_loss, model):
        if val_loss < self.best - self.delta:
            self.best, self.counter = val_loss, 0
            self.best_state = copy.deepcopy(model.state_dict())
            return False
        self.counter += 1
        logger.info('EarlyStopping counter: %d out of %d', self.counter, self.patience)
        return self.counter >= self.patience


torch.manual_seed(2)
x, y = torch.randn(20, 6), torch.randn(20, 1)
xv, yv = torch.randn(10, 6), torch.randn(10, 1)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
stopper = EarlyStopping()
for epoch in range(50):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        val = nn.functional.mse_loss(model(xv), yv).item()
    if stopper(val, model):
        logger.warning(f'stopped after epoch {epoch}')
        break
model.load_state_dict(stopper.best_state)
print(f'{stopper.best:.4f}', sorted(stopper.best_state)[:2], model.load_state_dict(stopper.best_state))
