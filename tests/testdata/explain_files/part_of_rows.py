from datasets import load_dataset
from transformers import BertForSequenceClassification, Trainer, TrainingArguments

rows = load_dataset("yelp_review_full")
small = rows["train"].shuffle(seed=42).select(range(1000))
model = BertForSequenceClassification.from_pretrained("bert-base-cased", num_labels=5)
args = TrainingArguments("out", learning_rate=3e-5, num_train_epochs=get_epochs())


class WeightedTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        return 0


WeightedTrainer(model=model, args=args, train_dataset=small).train()
