from datasets import load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer
from sentence_transformers import SentenceTransformerTrainingArguments, losses

model = SentenceTransformer("microsoft/mpnet-base")
loss = losses.DistillKLDivLoss(model, temperature=2.0, teacher_temperature=4)
dataset = load_dataset("sentence-transformers/natural-questions", split="train")
args = SentenceTransformerTrainingArguments(
    output_dir="models/guided",
    num_train_epochs=1,
    per_device_train_batch_size=256,
    learning_rate=2e-5,
    warmup_ratio=0.1,
)
trainer = SentenceTransformerTrainer(model=model, args=args, train_dataset=dataset, loss=loss)
trainer.train()
