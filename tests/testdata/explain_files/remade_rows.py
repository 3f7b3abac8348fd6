# After programs whose rows go through functions and classes of other libraries.
from datasets import load_dataset
from imblearn.over_sampling import RandomOverSampler
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

from ours import cleaned

rows = load_dataset("imdb")
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
encoded = rows.map(lambda batch: tokenizer(batch["text"], truncation=True, max_length=128), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
films = encoded["train"].repeat(2)
films = RandomOverSampler().fit_resample(films)
films = films[:1000]
films = films.cast_column("label", "float32")
scored = cleaned if cleaned else [row for row in encoded["test"]]
args = TrainingArguments("films", eval_strategy="epoch")
Trainer(model=model, args=args, train_dataset=films, eval_dataset=scored).train()
