from datasets import DatasetDict, load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer
from sentence_transformers import SentenceTransformerTrainingArguments, losses

model = SentenceTransformer("microsoft/mpnet-base")
questions = load_dataset("sentence-transformers/natural-questions", split="train[:10%]")
loss = losses.MatryoshkaLoss(model, losses.MultipleNegativesRankingLoss(model, scale=30), matryoshka_dims=[768, 128])
args = SentenceTransformerTrainingArguments(output_dir="models/mixed", per_device_train_batch_size=32)
trainer = SentenceTransformerTrainer(
    model=model,
    args=args,
    train_dataset=DatasetDict({
        "questions": questions,
        "answers": load_dataset("sentence-transformers/gooaq", split="train"),
    }),
    loss=loss,
)
trainer.train()
