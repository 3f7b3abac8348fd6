from transformers import (AutoModelWithLMHead, AutoTokenizer, DataCollatorForLanguageModeling, LineByLineTextDataset,
                          Trainer, TrainingArguments)

model = AutoModelWithLMHead.from_pretrained("bert-base-uncased")
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
rows = LineByLineTextDataset(tokenizer=tokenizer, file_path="./text.txt", block_size=128)
arguments = TrainingArguments(output_dir="out", num_train_epochs=10, per_device_train_batch_size=64)
Trainer(model=model, args=arguments, train_dataset=rows,
        data_collator=DataCollatorForLanguageModeling(tokenizer=tokenizer, mlm=True)).train()
