# After programs that go on with BERT's pre-training.
from transformers import BertForPreTraining, BertTokenizerFast, DataCollatorForLanguageModeling
from transformers import TextDatasetForNextSentencePrediction, Trainer, TrainingArguments

tokenizer = BertTokenizerFast.from_pretrained("bert-base-uncased")
model = BertForPreTraining.from_pretrained("bert-base-uncased")
articles = TextDatasetForNextSentencePrediction(tokenizer=tokenizer, file_path="articles.txt", block_size=256)
collator = DataCollatorForLanguageModeling(tokenizer=tokenizer, mlm=True, mlm_probability=0.15)
args = TrainingArguments(output_dir="pretrained", num_train_epochs=2, per_device_train_batch_size=16, learning_rate=2e-5)
trainer = Trainer(model=model, args=args, data_collator=collator, train_dataset=articles)
trainer.train()
