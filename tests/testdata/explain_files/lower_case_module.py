from datasets import load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments, models
from sentence_transformers.losses import MultipleNegativesRankingLoss

word = models.Transformer("bert-base-uncased", do_lower_case=True, max_seq_length=128)
model = SentenceTransformer(modules=[word, models.Pooling(word.get_word_embedding_dimension())])
rows = load_dataset("sentence-transformers/all-nli", "pair", split="train")
loss = MultipleNegativesRankingLoss(model)
trainer = SentenceTransformerTrainer(model, SentenceTransformerTrainingArguments("out"), train_dataset=rows, loss=loss)
trainer.train()
