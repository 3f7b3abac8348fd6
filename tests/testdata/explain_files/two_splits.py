# After programs that load each split by itself.
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

train = load_dataset("tweet_eval", name="emotion", split="train")
scored = load_dataset("tweet_eval", name="emotion", split="test")
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
train = train.map(lambda batch: tokenizer(batch["text"], truncation=True), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=4)
args = TrainingArguments(output_dir="tweets", evaluation_strategy="epoch")
Trainer(model=model, args=args, train_dataset=train, eval_dataset=scored).train()
