from datasets import load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments, losses
from sentence_transformers.evaluation import EmbeddingSimilarityEvaluator, SimilarityFunction

model = SentenceTransformer("bert-base-uncased")
pairs = load_dataset("sentence-transformers/stsb", split="train")
scored = load_dataset("sentence-transformers/stsb", split="validation")
evaluator = EmbeddingSimilarityEvaluator(
    sentences1=scored["sentence1"], sentences2=scored["sentence2"], scores=scored["score"],
    main_similarity=SimilarityFunction.COSINE, name="sts-dev",
)
args = SentenceTransformerTrainingArguments(output_dir="out", per_device_train_batch_size=16, eval_strategy="steps", eval_steps=100)
SentenceTransformerTrainer(
    model=model, args=args, train_dataset=pairs, eval_dataset=scored, loss=losses.CosineSimilarityLoss(model), evaluator=evaluator
).train()
