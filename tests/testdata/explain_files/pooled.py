from datasets import load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments, losses, models
from sentence_transformers.evaluation import EmbeddingSimilarityEvaluator
from sentence_transformers.training_args import BatchSamplers

encoder = models.Transformer("distilroberta-base", max_seq_length=75)
pooling = models.Pooling(encoder.get_word_embedding_dimension(), pooling_mode="cls")
model = SentenceTransformer(modules=[encoder, pooling, models.Normalize()])
pairs = load_dataset("csv", data_files="pairs.csv", split="train")
loss = losses.MultipleNegativesRankingLoss(model)
args = SentenceTransformerTrainingArguments(output_dir="pairs", per_device_train_batch_size=32)
SentenceTransformerTrainer(model=model, args=args, train_dataset=pairs, loss=loss).train()
