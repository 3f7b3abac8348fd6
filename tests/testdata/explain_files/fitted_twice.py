from sentence_transformers import InputExample, SentenceTransformer, losses
from torch.utils.data import DataLoader

model = SentenceTransformer("all-MiniLM-L6-v2")
near = DataLoader([InputExample(texts=["a", "b"])], shuffle=True, batch_size=16)
far = DataLoader([InputExample(texts=["c", "d"])], shuffle=True, batch_size=16)
loss = losses.MultipleNegativesRankingLoss(model)
model.fit(train_objectives=[(near, loss), (far, loss)], epochs=1, warmup_steps=100)
