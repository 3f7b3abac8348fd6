from transformers import DataCollatorForTokenClassification, Trainer, TrainingArguments


def tag(rows, tokenizer):
    batch = tokenizer(rows["tokens"], truncation=True, is_split_into_words=True)
    batch["labels"] = []
    for i, row in enumerate(rows["ner_tags"]):
        numbers = []
        for word_id in batch.word_ids(batch_index=i):
            if word_id is None:
                numbers.append(-100)
            else:
                numbers.append(row[word_id])
        batch["labels"].append(numbers)
    return batch


def train(model, tokenizer, rows, score):
    args = TrainingArguments(output_dir="tags", num_train_epochs=3)
    Trainer(model=model, args=args, train_dataset=rows, data_collator=DataCollatorForTokenClassification(tokenizer), compute_metrics=score).train()
