from datasets import load_dataset
from peft import LoraConfig, get_peft_model, TaskType
from transformers import AutoTokenizer, AutoModelForSequenceClassification, TrainingArguments, Trainer
ds = load_dataset("glue", "mrpc")
tokenizer = AutoTokenizer.from_pretrained("roberta-large")
def f(e): return tokenizer(e["sentence1"], e["sentence2"], truncation=True, max_length=None)
ds = ds.map(f, batched=True, remove_columns=["idx","sentence1","sentence2"]).rename_column("label","labels")
model = AutoModelForSequenceClassification.from_pretrained("roberta-large", return_dict=True)
model = get_peft_model(model, LoraConfig(task_type=TaskType.SEQ_CLS, inference_mode=False, r=8, lora_alpha=16, lora_dropout=0.1))
args = TrainingArguments(output_dir="o", learning_rate=3e-4, per_device_train_batch_size=32, num_train_epochs=2, eval_strategy="epoch")
Trainer(model=model, args=args, train_dataset=ds["train"], eval_dataset=ds["validation"]).train()
