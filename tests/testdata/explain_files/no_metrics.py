from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

shown = AutoModelForSequenceClassification.from_pretrained("distilbert-base-uncased-finetuned-sst-2-english")
reviews = load_dataset("imdb", split=["train[:1000]", "test[:500]"])
name = "distilbert-base-uncased"
tokenizer = AutoTokenizer.from_pretrained(name)
encoded = reviews.map(lambda rows: tokenizer(rows["text"], truncation=True), batched=True)
model = AutoModelForSequenceClassification.from_pretrained(name, num_labels=2)
args = TrainingArguments("reviews", eval_strategy="epoch", save_strategy="epoch", load_best_model_at_end=True, metric_for_best_model="accuracy", run_name=make_name())
trainer = Trainer(model, args, train_dataset=encoded["train"], eval_dataset=encoded["test"])
trainer.train()
tried = AutoTokenizer.from_pretrained("reviews")
