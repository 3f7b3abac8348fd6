from seqeval.metrics import accuracy_score, f1_score
from datasets import load_dataset
from transformers import AutoModelForTokenClassification, AutoTokenizer, DataCollatorForTokenClassification, Trainer, TrainingArguments

kind = "ner"
name = "bert-base-cased"
sentences = load_dataset("conll2003")
tokenizer = AutoTokenizer.from_pretrained(name)


def tag(rows, all_tokens=False):
    batch = tokenizer(rows["tokens"], truncation=True, is_split_into_words=True)
    tags = []
    for i, row in enumerate(rows[f"{kind}_tags"]):
        before = None
        numbers = []
        for word_id in batch.word_ids(batch_index=i):
            if word_id is None:
                numbers.append(-100)
            elif word_id != before:
                numbers.append(row[word_id])
            else:
                numbers.append(row[word_id] if all_tokens else -100)
            before = word_id
        tags.append(numbers)
    batch["labels"] = tags
    return batch


def score(outputs):
    predicted, true = named(outputs.predictions.argmax(-1)), named(outputs.label_ids)
    return {"f1": f1_score(true, predicted, average="macro"), "accuracy": accuracy_score(true, predicted)}


model = AutoModelForTokenClassification.from_pretrained(name, num_labels=9)
args = TrainingArguments(f"runs/{kind}", eval_strategy="epoch", load_best_model_at_end=True, metric_for_best_model="f1")
batches = sentences.map(tag, batched=True)
Trainer(model, args, train_dataset=batches["train"], eval_dataset=batches["validation"], compute_metrics=score, data_collator=DataCollatorForTokenClassification(tokenizer)).train()
