import torch
from datasets import load_dataset
from sklearn.model_selection import StratifiedKFold
from transformers import AutoModelForSequenceClassification, AutoTokenizer, EarlyStoppingCallback, Trainer, TrainerCallback, TrainingArguments


class Unfreeze(TrainerCallback):
    def on_epoch_begin(self, args, state, control, model=None, **others):
        control.should_save = True


class Rows(torch.utils.data.Dataset):
    def __init__(self, rows, tokenizer):
        self.items = [tokenizer.encode_plus(row["text"], max_length=64, truncation=True) for row in rows]


reviews = load_dataset("imdb")
tokenizer = AutoTokenizer.from_pretrained("bert-base-cased")
tokenizer.add_special_tokens({"additional_special_tokens": ["<url>"]})
model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased", num_labels=2)
model.config.hidden_dropout_prob = 0.3
model.classifier = torch.nn.Linear(768, 2)
model.freeze_encoder()
args = TrainingArguments("out", eval_strategy="epoch")
folds = StratifiedKFold(n_splits=5)
trainer = Trainer(model, args, train_dataset=Rows(reviews["train"], tokenizer), eval_dataset=Rows(reviews["test"], tokenizer),
                  callbacks=[Unfreeze(), EarlyStoppingCallback(3, early_stopping_threshold=0.01)])
trainer.hyperparameter_search(n_trials=10)
