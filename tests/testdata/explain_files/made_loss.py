from datasets import load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments

model = SentenceTransformer("microsoft/mpnet-base")
model[0].max_seq_length = 75
pairs = load_dataset("csv", data_files="pairs.csv", split="train")
pairs = pairs.select_columns(["one", "other"])
args = SentenceTransformerTrainingArguments(output_dir="pairs")
SentenceTransformerTrainer(model=model, args=args, train_dataset=pairs, loss=make_loss(model)).train()
