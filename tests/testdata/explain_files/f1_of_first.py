from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

from sklearn.metrics import f1_score
def score(p):
    return {"f1": f1_score(p.label_ids, p.predictions.argmax(-1), pos_label=0)}


tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
rows = load_dataset("imdb")
rows = rows.map(lambda row: tokenizer(row["text"], truncation=True), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
trainer = Trainer(model=model, args=TrainingArguments("out", eval_strategy="epoch"), train_dataset=rows["train"], eval_dataset=rows["test"], compute_metrics=score)
trainer.train()
