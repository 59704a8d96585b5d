# engine: torch
# needs: transformers
# cause: the student's log_softmax is taken over the batch, the teacher's softmax over the classes
# line: loss = F.kl_div(F.log_softmax(logits, dim=0), F.softmax(goal, dim=-1), reduction="batchmean")
# must: over dim=0
# must: not over the 3 classes
import torch
import torch.nn.functional as F
from transformers import RobertaConfig, RobertaForSequenceClassification

torch.manual_seed(0)


def make(width):
    return RobertaForSequenceClassification(
        RobertaConfig(
            vocab_size=100,
            hidden_size=width,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=32,
            num_labels=3,
            max_position_embeddings=40,
        )
    )


teacher, student = make(32).eval().requires_grad_(False), make(16)
optimizer = torch.optim.Adam(student.parameters(), lr=1e-3)
for step in range(4):
    ids = torch.randint(2, 100, (8, 10))
    goal = teacher(ids).logits
    logits = student(ids).logits
    loss = F.kl_div(F.log_softmax(logits, dim=0), F.softmax(goal, dim=-1), reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
