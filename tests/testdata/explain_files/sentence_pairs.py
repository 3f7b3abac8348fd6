import sys
from datetime import datetime

from datasets import load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, losses
from sentence_transformers.training_args import SentenceTransformerTrainingArguments

name = sys.argv[1] if len(sys.argv) > 1 else "distilbert-base-uncased"
model = SentenceTransformer(name)
pairs = load_dataset("sentence-transformers/stsb", split="train")
scored = load_dataset("sentence-transformers/stsb", split="validation")
loss = losses.CosineSimilarityLoss(model=model)
folder = ("out/" + name.replace("/", "-") + "-" + datetime.now().strftime("%H-%M-%S"))
args = SentenceTransformerTrainingArguments(
    output_dir=folder,
    num_train_epochs=4,
    per_device_train_batch_size=16,
    warmup_ratio=0.1,
    fp16=True,
    eval_strategy="steps",
    eval_steps=100,
)
SentenceTransformerTrainer(
    model=model, args=args, train_dataset=pairs, eval_dataset=scored, loss=loss).train()
