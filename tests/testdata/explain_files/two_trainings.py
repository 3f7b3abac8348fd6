import os

from sentence_transformers import InputExample, SentenceTransformer, losses
from sentence_transformers.datasets import NoDuplicatesDataLoader
from torch.utils.data import DataLoader

os.environ["CUDA_VISIBLE_DEVICES"] = "0"
model = SentenceTransformer("distilroberta-base")
near = DataLoader(pairs, batch_size=16)
far = NoDuplicatesDataLoader(others, batch_size=16)
first = losses.CosineSimilarityLoss(model)
second = losses.MultipleNegativesRankingLoss(model)
model.fit(train_objectives=[(near, first)], epochs=1, warmup_steps=0)
model.fit(train_objectives=[(far, second)], epochs=1, warmup_steps=0)
