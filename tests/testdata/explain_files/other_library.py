# After programs whose Trainer is of another library than transformers.
from datasets import load_dataset
from span_marker import SpanMarkerModel, Trainer
from transformers import TrainingArguments

model = SpanMarkerModel.from_pretrained("bert-base-cased", labels=["O", "PER"], model_max_length=256)
rows = load_dataset("conll2003")
args = TrainingArguments("spans", num_train_epochs=3, eval_strategy="epoch")
Trainer(model=model, args=args, train_dataset=rows["train"], eval_dataset=rows["validation"]).train()
