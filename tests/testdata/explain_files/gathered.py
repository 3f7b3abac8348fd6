from datasets import load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer
from sentence_transformers import SentenceTransformerTrainingArguments, losses

model = SentenceTransformer("microsoft/mpnet-base")
pairs = load_dataset("sentence-transformers/gooaq", split="train")
args = SentenceTransformerTrainingArguments(output_dir="models/gathered", per_device_train_batch_size=64)
loss = losses.MultipleNegativesRankingLoss(model, gather_across_devices=True)
trainer = SentenceTransformerTrainer(model=model, args=args, train_dataset=pairs, loss=loss)
trainer.train()
