from datasets import load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments, losses, models
from sentence_transformers.util import mine_hard_negatives

model = SentenceTransformer("bert-base-uncased")
model.append(models.Normalize())
pairs = load_dataset("sentence-transformers/gooaq", split="train")
pairs = mine_hard_negatives(pairs, model)
args = SentenceTransformerTrainingArguments(output_dir="out")
SentenceTransformerTrainer(model=model, args=args, train_dataset=pairs, loss=losses.MultipleNegativesRankingLoss(model)).train()
