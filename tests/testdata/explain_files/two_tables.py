# After programs that read each file by itself.
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

train = load_dataset("csv", data_files="train.csv", delimiter=";", column_names=["label", "text"])["train"]
scored = load_dataset("csv", data_files="dev.csv", delimiter=";", column_names=["label", "text"])["train"]
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased")
args = TrainingArguments(output_dir="tables", evaluation_strategy="epoch")
Trainer(model=model, args=args, train_dataset=train, eval_dataset=scored).train()
