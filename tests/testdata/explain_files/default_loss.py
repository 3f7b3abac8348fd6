from datasets import load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments

model = SentenceTransformer("microsoft/mpnet-base")
pairs = load_dataset("csv", data_files="pairs.csv", split="train")
args = SentenceTransformerTrainingArguments(output_dir="pairs")
SentenceTransformerTrainer(model=model, args=args, train_dataset=pairs).train()
