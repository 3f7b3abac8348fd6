import numpy as np
import evaluate
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

rows = load_dataset("glue", "mrpc")
tokenizer = AutoTokenizer.from_pretrained("bert-base-cased")
rows = rows.map(lambda row: tokenizer(row["sentence1"], row["sentence2"], truncation=True, max_length=128), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased", num_labels=2)
metric = evaluate.load("f1")


def compute_metrics(scored):
    return metric.compute(predictions=np.argmax(scored.predictions, axis=1), references=scored.label_ids)


arguments = TrainingArguments("out", eval_strategy="epoch", save_strategy="epoch", load_best_model_at_end=True,
                              metric_for_best_model="f1")
trainer = Trainer(model=model, args=arguments, train_dataset=rows["train"], eval_dataset=rows["validation"],
                  compute_metrics=compute_metrics, processing_class=tokenizer)
trainer.train()
