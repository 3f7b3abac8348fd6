from datasets import load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer
from sentence_transformers import SentenceTransformerTrainingArguments, losses
from sentence_transformers.training_args import BatchSamplers

model = SentenceTransformer("microsoft/mpnet-base")
loss = losses.CachedMultipleNegativesRankingLoss(model, mini_batch_size=16)
dataset = load_dataset("sentence-transformers/natural-questions", split="train")
args = SentenceTransformerTrainingArguments(
    output_dir="models/prompts",
    num_train_epochs=1,
    per_device_train_batch_size=256,
    learning_rate=2e-5,
    warmup_ratio=0.1,
    batch_sampler=BatchSamplers.NO_DUPLICATES,
    prompts={"query": "query: ", "answer": "document: "},
)
trainer = SentenceTransformerTrainer(model=model, args=args, train_dataset=dataset, loss=loss)
trainer.train()
