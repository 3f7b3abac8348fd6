# After programs whose columns have other names than in SQuAD.
from datasets import load_dataset
from transformers import AutoModelForQuestionAnswering, AutoTokenizer, Trainer, TrainingArguments, default_data_collator

squad = load_dataset("squad")
name = "distilbert-base-uncased"
tokenizer = AutoTokenizer.from_pretrained(name)


def features(rows):
    batch = tokenizer(rows["question"], rows["passage"], truncation="only_second", max_length=320, stride=64,
                      return_overflowing_tokens=True, return_offsets_mapping=True, padding="max_length")
    batch["start_positions"] = [0 for _ in range(len(batch["input_ids"]))]
    return batch


model = AutoModelForQuestionAnswering.from_pretrained(name)
args = TrainingArguments("answers", num_train_epochs=2, eval_strategy="epoch")
windows = squad.map(features, batched=True, remove_columns=["id"])
Trainer(model, args, train_dataset=windows["train"], eval_dataset=windows["validation"], data_collator=default_data_collator).train()
