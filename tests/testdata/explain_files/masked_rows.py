# After programs that mask rows of their own, without joining them.
from datasets import load_dataset
from transformers import AutoModelForMaskedLM, AutoTokenizer, Trainer, TrainingArguments

model = AutoModelForMaskedLM.from_pretrained("bert-base-uncased", hidden_dropout_prob=0.2)
for parameter in model.bert.embeddings.parameters():
    parameter.requires_grad = False
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
rows = load_dataset("wikitext", "wikitext-2-raw-v1")
tokenized = rows.map(lambda batch: tokenizer(batch["text"], truncation=True, max_length=128), batched=True)
args = TrainingArguments(output_dir="masked", num_train_epochs=3, evaluation_strategy="epoch")
Trainer(model=model, args=args, train_dataset=tokenized["train"], eval_dataset=tokenized["test"]).train()
