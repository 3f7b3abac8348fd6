# After programs that train with sentence-transformers before version 3.
from sentence_transformers import InputExample, SentenceTransformer, losses
from torch.utils.data import DataLoader

model = SentenceTransformer("sentence-transformers/all-MiniLM-L6-v2")
rows = [InputExample(texts=["a question", "its answer"])]
loader = DataLoader(rows, shuffle=True, batch_size=64)
loss = losses.MultipleNegativesRankingLoss(model, scale=60)
model.fit(
    train_objectives=[(loader, loss)],
    epochs=2,
    warmup_steps=100,
    optimizer_params={"lr": 5e-5},
    max_grad_norm=1,
    output_path="out",
    show_progress_bar=True,
)
