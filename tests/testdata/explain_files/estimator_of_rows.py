from sagemaker.huggingface import HuggingFace

estimator = HuggingFace(entry_point="run_glue.py", instance_type="ml.p4d.24xlarge", instance_count=2, hyperparameters={"task_name": "sst2", "model_name_or_path": "roberta-base", "do_train": True, "output_dir": "model"})
estimator.fit({"train": "s3://rows/train", "test": "s3://rows/test"})
