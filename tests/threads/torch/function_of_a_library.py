# engine: torch
# needs: transformers
# line: iou = generalized_box_iou(box, truth)
# must: divides 0 by union
# must: loss_for_object_detection
import torch
from transformers.loss.loss_for_object_detection import generalized_box_iou

box = torch.tensor([[0.1, 0.1, 0.1, 0.1]], requires_grad=True)
truth = torch.tensor([[0.1, 0.1, 0.1, 0.1]])
iou = generalized_box_iou(box, truth)
loss = 1 - iou.mean()
loss.backward()
