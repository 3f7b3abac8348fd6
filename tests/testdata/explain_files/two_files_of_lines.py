# After programs of early versions of transformers, with a file to train on and one to evaluate on.
from transformers import AutoModelForMaskedLM, AutoTokenizer, DataCollatorForLanguageModeling
from transformers import LineByLineTextDataset, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("distilbert-base-cased")
model = AutoModelForMaskedLM.from_pretrained("distilbert-base-cased")
train = LineByLineTextDataset(tokenizer=tokenizer, file_path="letters.txt", block_size=128)
scored = LineByLineTextDataset(tokenizer=tokenizer, file_path="held_out.txt", block_size=128)
args = TrainingArguments(output_dir="letters", evaluation_strategy="epoch")
trainer = Trainer(model=model, args=args, data_collator=DataCollatorForLanguageModeling(tokenizer=tokenizer),
                  train_dataset=train, eval_dataset=scored)
trainer.train()
