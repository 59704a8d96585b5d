# engine: torch
# needs: transformers
# cause: the teacher is given as the input of kl_div, and the student as its target
# line: soft = F.kl_div(F.log_softmax(goal / 2, -1), F.softmax(logits / 2, -1), reduction="batchmean")
# must: kl_div
# must: target
# must: exchange|swap|reverse|first|input
# never: diverges|vanishes
# right: F.log_softmax(goal / 2, -1), F.softmax(logits / 2, -1) ==> F.log_softmax(logits / 2, -1), F.softmax(goal / 2, -1)
import torch
import torch.nn.functional as F
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)
config = BertConfig(
    vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, num_labels=3
)
teacher = BertForSequenceClassification(config).eval()
student = BertForSequenceClassification(config)
opt = torch.optim.AdamW(student.parameters(), lr=1e-3)
for step in range(3):
    ids, labels = torch.randint(0, 50, (4, 8)), torch.randint(0, 3, (4,))
    with torch.no_grad():
        goal = teacher(input_ids=ids).logits
    logits = student(input_ids=ids).logits
    soft = F.kl_div(F.log_softmax(goal / 2, -1), F.softmax(logits / 2, -1), reduction="batchmean")
    loss = F.cross_entropy(logits, labels) + 4 * soft
    opt.zero_grad()
    loss.backward()
    opt.step()
