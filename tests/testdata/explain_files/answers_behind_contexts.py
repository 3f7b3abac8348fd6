# After programs that put a context before its question by the names of variables.
from datasets import load_dataset
from transformers import AutoModelForQuestionAnswering, AutoTokenizer, Trainer, TrainingArguments

squad = load_dataset("squad")
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")


def features(rows):
    first = [text.strip() for text in rows["question"]]
    second = rows["context"]
    batch = tokenizer(second, first, truncation=True, max_length=320, stride=64, return_overflowing_tokens=True)
    batch["start_positions"] = [0 for _ in range(len(batch["input_ids"]))]
    return batch


model = AutoModelForQuestionAnswering.from_pretrained("bert-base-uncased")
windows = squad.map(features, batched=True)
Trainer(model, TrainingArguments("answers"), train_dataset=windows["train"]).train()
