# After programs that give every token of a word its tag.
from datasets import load_dataset
from transformers import AutoModelForTokenClassification, AutoTokenizer, Trainer, TrainingArguments

rows = load_dataset("conll2003")
tokenizer = AutoTokenizer.from_pretrained("bert-base-cased")


def align(batch, label_all_tokens: bool = True):
    return tokenizer(batch["tokens"], truncation=True, is_split_into_words=True)


model = AutoModelForTokenClassification.from_pretrained("bert-base-cased", num_labels=9)
args = TrainingArguments("tags", num_train_epochs=3, evaluation_strategy="epoch")
Trainer(model, args, train_dataset=rows["train"], eval_dataset=rows["validation"]).train()
