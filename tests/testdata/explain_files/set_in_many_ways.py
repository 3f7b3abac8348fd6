# After programs that set the values of their arguments again.
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

epochs = 3
decay = 0.1
warmup = 10
batch = 2
seed = 1
beta = 0.8
norm = 2.0
steps = 4
save = 5
epochs, rate = 5, 1e-4
for save in (5, 6): pass
if load_dataset: decay = 0.2
(warmup := 20)
batch **= 2
seed <<= 1
try: beta = 0.7
except ValueError: pass


def change():
    global norm
    norm = 3.0


def make(steps):
    change()
    return TrainingArguments("films", num_train_epochs=epochs, weight_decay=decay, warmup_steps=warmup, seed=seed, adam_beta1=beta,
                             per_device_train_batch_size=batch, max_grad_norm=norm, gradient_accumulation_steps=steps, save_steps=save,
                             learning_rate=later)


later = 1e-5
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
films = load_dataset("rotten_tomatoes").map(lambda rows: tokenizer(rows["text"], truncation=True, max_length=64), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
later = 2e-5
Trainer(model, make(8 if later else 2), train_dataset=films["train"]).train()
