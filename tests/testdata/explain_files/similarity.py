from datasets import load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments, losses

model = SentenceTransformer("microsoft/mpnet-base")
pairs = load_dataset("sentence-transformers/all-nli", "pair", split="train")
loss = losses.MultipleNegativesRankingLoss(model)
args = SentenceTransformerTrainingArguments(
    output_dir="runs/nli", num_train_epochs=1, per_device_train_batch_size=64, warmup_ratio=0.1, learning_rate=2e-5, fp16=False, bf16=True
)
SentenceTransformerTrainer(model=model, args=args, train_dataset=pairs, loss=loss).train()
