from datasets import load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer
from sentence_transformers import SentenceTransformerTrainingArguments, losses
from sentence_transformers.training_args import MultiDatasetBatchSamplers

model = SentenceTransformer("microsoft/mpnet-base")
train_dataset = {
    "questions": load_dataset("sentence-transformers/natural-questions", split="train"),
    "pairs": load_dataset("sentence-transformers/stsb", split="train"),
    "titles": load_dataset("sentence-transformers/s2orc", "title-abstract-pair", split="train"),
}
loss = {
    "questions": losses.MultipleNegativesRankingLoss(model),
    "pairs": losses.CoSENTLoss(model),
    "titles": losses.MultipleNegativesRankingLoss(model, scale=50),
}
args = SentenceTransformerTrainingArguments(
    output_dir="models/mixed",
    per_device_train_batch_size=64,
    multi_dataset_batch_sampler=MultiDatasetBatchSamplers.ROUND_ROBIN,
)
trainer = SentenceTransformerTrainer(model=model, args=args, train_dataset=train_dataset, loss=loss)
trainer.train()
