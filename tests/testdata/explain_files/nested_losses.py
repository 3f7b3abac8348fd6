from datasets import load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments, losses

model = SentenceTransformer("microsoft/mpnet-base")
rows = load_dataset("sentence-transformers/all-nli", "triplet", split="train")
inner = losses.TripletLoss(model, losses.TripletDistanceMetric.COSINE, triplet_margin=0.2)
loss = losses.MatryoshkaLoss(model, inner, matryoshka_dims=[768, 256], matryoshka_weights=[1, 0.5])
args = SentenceTransformerTrainingArguments(
    output_dir="runs/nli", num_train_epochs=1, per_device_train_batch_size=64, warmup_ratio=0.1, learning_rate=2e-5, bf16=True
)
SentenceTransformerTrainer(model=model, args=args, train_dataset=rows, loss=loss).train()
