# After programs that make samples of a data set's rows.
from datasets import load_dataset
from sentence_transformers import InputExample, SentenceTransformer, losses
from torch.utils.data import DataLoader

rows = load_dataset("glue", "stsb")["train"]
samples = [InputExample(texts=[row["sentence1"], row["sentence2"]], label=row["label"] / 5.0) for row in rows]
model = SentenceTransformer("all-mpnet-base-v2")
loader = DataLoader(samples, shuffle=True, batch_size=32)
model.fit(train_objectives=[(loader, losses.CosineSimilarityLoss(model))], epochs=10, warmup_steps=100)
