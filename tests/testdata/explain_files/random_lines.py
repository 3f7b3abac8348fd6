from transformers import DataCollatorForLanguageModeling, LineByLineTextDataset, RobertaConfig, RobertaForMaskedLM, RobertaTokenizerFast, Trainer, TrainingArguments

config = RobertaConfig(vocab_size=20000, num_hidden_layers=4)
tokenizer = RobertaTokenizerFast.from_pretrained("tokens", max_len=512)
model = RobertaForMaskedLM(config=config)
lines = LineByLineTextDataset(tokenizer=tokenizer, file_path="corpus.txt", block_size=96)
masks = DataCollatorForLanguageModeling(tokenizer=tokenizer, mlm=True, mlm_probability=0.2)
args = TrainingArguments(output_dir="small", num_train_epochs=4, per_device_train_batch_size=48)
Trainer(model=model, args=args, data_collator=masks, train_dataset=lines).train()
