# After programs of sentence-transformers that change the loss, and parts of the model.
from datasets import load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments, losses

from ours import hardened

model = SentenceTransformer("microsoft/mpnet-base", similarity_fn_name="dot", config_kwargs={"hidden_dropout_prob": 0})
del model[0].auto_model.encoder.layer[6:]
model[0].auto_model.pooler = None
pairs = load_dataset("sentence-transformers/all-nli", "pair", split="train")
plain = losses.MultipleNegativesRankingLoss(model)
plain.scale = 50
loss = hardened(plain)
args = SentenceTransformerTrainingArguments("pairs", per_device_train_batch_size=64, similarity_scale=30)
SentenceTransformerTrainer(model=model, args=args, train_dataset=pairs, loss=loss, peft_config=None, name="pairs").train()
