import os

import torch
from datasets import load_dataset
from helpers import Recorder, collate, options
from sklearn.metrics import f1_score
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0,1")
reviews = load_dataset("imdb")
tokenizer = AutoTokenizer.from_pretrained("bert-base-cased")
encoded = reviews.map(lambda rows: tokenizer(rows["text"], truncation=True), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased", num_labels=2)
for parameter in model.bert.parameters():
    setattr(parameter, "requires_grad", False)
del model.bert.encoder.layer[6:]
torch.nn.init.zeros_(model.classifier.bias)
model.resize_token_embeddings(30000)
model.half()


def scores(outputs):
    return {"f1": f1_score(outputs.label_ids, outputs.predictions[:, 1] > 0.3)}


args = TrainingArguments("out", **options)
trainer = Trainer(model=model, args=args, train_dataset=encoded["train"], eval_dataset=encoded["test"], data_collator=collate,
                  compute_metrics=scores, callbacks=[Recorder()], optimizer_cls_and_kwargs=(torch.optim.SGD, {}))
trainer.args.learning_rate = 1e-3
trainer.train(resume_from_checkpoint="older/checkpoint-500")
trainer.train()
