# After programs that compute with their options, and change them.
import argparse

from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments


def main(args):
    if args.half:
        args.lr = 1e-4
    tokenizer = AutoTokenizer.from_pretrained(args.base_model)
    films = load_dataset(args.films).map(lambda rows: tokenizer(rows["text"], truncation=True, max_length=64), batched=True)
    model = AutoModelForSequenceClassification.from_pretrained(args.base_model, num_labels=2)
    arguments = TrainingArguments(f"{args.out}/films", learning_rate=args.lr, per_device_train_batch_size=args.batch_size * 2,
                                  num_train_epochs=args.epochs, fp16=args.half, warmup_steps=args.warm_up, seed=args.seed)
    Trainer(model, arguments, train_dataset=films["train"]).train()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--base-model", default="bert-base-uncased")
    parser.add_argument("--films", type=str, default="rotten_tomatoes")
    parser.add_argument("--lr", type=float, default=3e-5, help="the rate")
    parser.add_argument("-b", "--batch_size", type=int, default=16)
    parser.add_argument("--num_epochs", dest="epochs", type=int, default=2)
    parser.add_argument("--half", action="store_true")
    parser.add_argument("--warm_up", type=int, default="50")
    parser.add_argument("--out", default="runs")
    parser.add_argument("--seed", type=int)
    main(parser.parse_args())
