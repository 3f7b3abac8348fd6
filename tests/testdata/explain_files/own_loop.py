import torch
from transformers import AutoModelForSequenceClassification

model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased")
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
for batch in batches:
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
