from sentence_transformers.cross_encoder import CrossEncoder
from torch.utils.data import DataLoader

model = CrossEncoder("distilroberta-base", num_labels=1, max_length=256)
model.fit(train_dataloader=DataLoader(pairs, shuffle=True, batch_size=32), epochs=2, warmup_steps=100, output_path="ranker")
