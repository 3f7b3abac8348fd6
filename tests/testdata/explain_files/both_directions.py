from datasets import load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments, losses

model = SentenceTransformer("microsoft/mpnet-base")
pairs = load_dataset("sentence-transformers/all-nli", "pair", split="train")
loss = losses.MultipleNegativesRankingLoss(
    model, 30, directions=("query_to_doc", "doc_to_query"), partition_mode="per_direction", hardness_strength=0.5
)
args = SentenceTransformerTrainingArguments(
    output_dir="runs/nli", num_train_epochs=1, per_device_train_batch_size=64, warmup_ratio=0.1, learning_rate=2e-5, bf16=True
)
SentenceTransformerTrainer(model=model, args=args, train_dataset=pairs, loss=loss).train()
