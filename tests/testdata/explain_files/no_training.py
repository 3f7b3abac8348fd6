# After programs that only try out a model.
from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained("gpt2")
tokenizer = AutoTokenizer.from_pretrained("gpt2")
print(tokenizer.decode(model.generate(**tokenizer("Once", return_tensors="pt"))[0]))
