import heapq
import math
import torch

torch.manual_seed(11)
vocab = ['<s>', '</s>', 'a', 'b', 'c']
table = torch.log_softmax(torch.randn(5, 5), dim=-1)


def step(prefix):
    return table[prefix[-1]]


def beam_search(width=2, max_len=4):
    beams = [(0.0, [0])]
    finished = []
    for _ in range(max_len):
        candidates = []
        for score, prefix in beams:
            values, indices = step(prefix).topk(3)
            for value, index in zip(values.tolist(), indices.tolist()):
                entry = (score + value, prefix + [index])
                (finished if index == 1 else candidates).append(entry)
        beams = heapq.nlargest(width, candidates, key=lambda e: e[0])
        yield [(round(s, 3), ' '.join(vocab[i] for i in p)) for s, p in beams]
    best = max(finished + beams, key=lambda e: e[0] / len(e[1]))
    yield ('best', round(best[0], 3), [vocab[i] for i in best[1]])


for level in beam_search():
    print(level)


def edit_distance(a, b):
    dp = [[max(i, j) if 0 in (i, j) else math.inf for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            dp[i][j] = min(dp[i - 1][j] + 1, dp[i][j - 1] + 1, dp[i - 1][j - 1] + (a[i - 1] != b[j - 1]))
    return dp[-1][-1]


print(edit_distance('kitten', 'sitting'), edit_distance('', 'abc'))
