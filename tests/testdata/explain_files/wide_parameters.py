import torch
from datasets import load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.losses import MultipleNegativesRankingLoss

model = SentenceTransformer("bert-base-uncased", model_kwargs={"torch_dtype": torch.float32, "attn_implementation": "sdpa"})
rows = load_dataset("sentence-transformers/all-nli", "pair", split="train")
loss = MultipleNegativesRankingLoss(model)
trainer = SentenceTransformerTrainer(model, SentenceTransformerTrainingArguments("out"), train_dataset=rows, loss=loss)
trainer.train()
