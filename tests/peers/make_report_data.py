"""Writes small data sets into the current folder, from which scripts/test-report.sh trains jobs: squad.json, numbers.csv, labels.jsonl,
mnli/ and hostile.jsonl."""
import json
import os
import random

random.seed(1)
NAMES = ["Ada", "Alan", "Grace", "Edsger", "Barbara", "Donald"]
CITIES = ["Paris", "London", "Berlin", "Zurich", "Oslo", "Rome"]

articles = []
for number in range(400):
    name, city, year = random.choice(NAMES), random.choice(CITIES), str(random.randint(1900, 1999))
    context = f"{name} was born in {city} in {year}. The city was large, and people worked there in shops and schools."
    question, answer = random.choice(
        [(f"Where was {name} born?", city), (f"When was {name} born?", year), (f"Who was born in {city}?", name)])
    answers = [{"text": answer, "answer_start": context.index(answer)}]
    articles.append({"title": "t", "paragraphs": [
        {"context": context, "qas": [{"id": str(number), "question": question, "answers": answers}]}]})
with open("squad.json", "w") as file:
    json.dump({"version": "1.1", "data": articles}, file)

WORDS = {"excellent": 2, "good": 1, "fair": 0, "poor": -1, "awful": -2}
with open("numbers.csv", "w") as file:
    file.write("text,label\n")
    for _ in range(600):
        words = random.choices(list(WORDS), k=3)
        file.write(f"The food was {words[0]} and the room was {words[1]} and {words[2]},{sum(WORDS[w] for w in words) / 3:.2f}\n")

with open("labels.jsonl", "w") as file:
    for number in range(600):
        words = random.choices(list(WORDS), k=2)
        # Some labels are those of other words, so that there are mistakes.
        meant = words if random.random() < 0.9 else random.choices(list(WORDS), k=2)
        labels = sorted({"praise" if WORDS[word] > 0 else "blame" if WORDS[word] < 0 else "neither" for word in meant})
        text = f"Guest {number}: the food was {words[0]} and the room {words[1]}."
        file.write(json.dumps({"text": text, "labels": labels}) + "\n")

os.makedirs("mnli", exist_ok=True)
for name, rows in (("train", 400), ("dev_matched", 100), ("dev_mismatched", 80)):
    with open(f"mnli/{name}.tsv", "w") as file:
        file.write("sentence1\tsentence2\tgold_label\n")
        for _ in range(rows):
            first, second = random.choices(list(WORDS), k=2)
            label = "entailment" if first == second else "contradiction" if WORDS[first] * WORDS[second] < 0 else "neutral"
            thing = "room" if name == "dev_mismatched" else "food"
            file.write(f"The {thing} was {first}.\tIt was {second}.\t{label}\n")

HOSTILE = [
    "<script>document.title = 'owned'</script>",
    "<img src=x onerror=alert(1)> </td></table></body>",
    "\x1b[2J\x1b]0;owned\x07",
    "\u202etxt.exe\u202c \u2066 \u200f",
    "שלום עולם",
    "👩‍🚀" * 50,
    "a" * 1_000_000,
    "]]> <!-- &nbsp; --> </script></style>",
    "javascript:alert(1)",
    "' onmouseover='alert(1)",
]
with open("hostile.jsonl", "w") as file:
    for number in range(400):
        # Labels cannot be learnt, so most of these rows are among the mistakes.
        label = random.choice(["<script>alert(1)</script>", "\u202elabel", "שלום"])
        file.write(json.dumps({"text": f"{HOSTILE[number % len(HOSTILE)]} {number}", "label": label}) + "\n")
