# After programs whose arguments are no arguments of transformers, or are made elsewhere.
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

from ours import callbacks, largest

rows = load_dataset("rotten_tomatoes")
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
encoded = rows.map(lambda batch: tokenizer(batch["text"], truncation=True, max_length=128), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
args = TrainingArguments("films", lr=1e-3, layerwise_lr_decay=0.9, optim="lamb", deepspeed={"gradient_clipping": 3}, eval_strategy="epoch")
trainer = Trainer(model, args, train_dataset=encoded["train"], eval_dataset=encoded["train"], callbacks=callbacks, teacher=model, preprocess_logits_for_metrics=largest)
trainer.create_optimizer_and_scheduler(100)
trainer.accelerator.gradient_accumulation_steps = 4
trainer.train("films/checkpoint-500")
