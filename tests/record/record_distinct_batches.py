"""Records the batches of NoDuplicatesBatchSampler of sentence-transformers, for rows in the order in which they stand.

    python tests/record/record_distinct_batches.py

Prints what tests/trainer/data/distinct_texts_test.cpp expects, for rows of three texts that repeat, and for each size of a batch.
"""

import logging

import torch
from datasets import Dataset
from sentence_transformers.base.sampler import NoDuplicatesBatchSampler

logging.disable()
torch.randperm = lambda count, generator=None, dtype=None: torch.arange(count, dtype=dtype)
rows = range(40)
columns = {"anchor": [f"a{i * 7 % 29}" for i in rows], "positive": [f"b{i * i % 23}" for i in rows],
           "negative": [f"a{i % 3}" if i % 4 == 0 else f"c{i}" for i in rows]}
for size in (3, 5, 16):
    batches = NoDuplicatesBatchSampler(Dataset.from_dict(columns), batch_size=size, drop_last=False)
    made = [[int(i) for i in batch] for batch in batches]
    print(size, str(made).replace("[", "{").replace("]", "}"))
