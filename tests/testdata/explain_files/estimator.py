from sagemaker.huggingface import HuggingFace

flags = {
    "model_name_or_path": "roberta-base",
    "task_name": "sst2",
    "do_train": True,
    "do_eval": True,
    "max_seq_length": 128,
    "per_device_train_batch_size": 32,
    "output_dir": "/opt/ml/model",
}
estimator = HuggingFace(entry_point="run_glue.py", source_dir="examples", instance_type="ml.g5.xlarge", instance_count=1, hyperparameters=flags)
estimator.fit()
