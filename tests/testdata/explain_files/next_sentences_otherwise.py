from datasets import load_dataset
from transformers import BertConfig, BertForPreTraining, Trainer, TrainingArguments

model = BertForPreTraining(BertConfig(num_hidden_layers=6))
pairs = load_dataset("json", data_files="pairs.json", split="train")
trainer = Trainer(model=model, args=TrainingArguments("out"), train_dataset=pairs)
trainer.train()
