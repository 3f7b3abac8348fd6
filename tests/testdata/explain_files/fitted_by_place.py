# After programs that name a model of sentence-transformers without the organization.
from sentence_transformers import InputExample, SentenceTransformer, losses
from torch.utils.data import DataLoader

model = SentenceTransformer("all-MiniLM-L6-v2")
loader = DataLoader([InputExample(texts=["a", "b"])], shuffle=True, batch_size=16)
model.fit([(loader, losses.MultipleNegativesRankingLoss(model))], epochs=1, warmup_steps=100)
