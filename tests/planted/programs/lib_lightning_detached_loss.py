# engine: torch
# needs: pytorch_lightning
# cause: training_step returns the loss without its graph
# line: return loss.detach()
# must: detach
# never: learning rate|vanishes
import logging
import warnings

import pytorch_lightning as pl
import torch
from torch import nn

logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")
torch.manual_seed(0)


class Classifier(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))

    def training_step(self, batch, index):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        return loss.detach()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


data = torch.utils.data.TensorDataset(torch.randn(12, 6), torch.randint(0, 3, (12,)))
trainer = pl.Trainer(
    max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, accelerator="cpu"
)
trainer.fit(Classifier(), torch.utils.data.DataLoader(data, batch_size=4))
