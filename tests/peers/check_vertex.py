"""Reads vertex/*.yaml as gcloud does, without a project and without the network.

    check_vertex.py SDK

SDK is the folder of the Google Cloud SDK. Run it with a Python that the SDK supports.
"""

import os
import sys

SDK = sys.argv[1]
sys.path[:0] = [os.path.join(SDK, "lib"), os.path.join(SDK, "lib/third_party")]
from googlecloudsdk.api_lib.util import messages as messages_util  # noqa: E402
from googlecloudsdk.core import yaml  # noqa: E402
from googlecloudsdk.generated_clients.apis.aiplatform.v1 import aiplatform_v1_messages as messages  # noqa: E402

FOLDER = os.path.join(os.path.dirname(__file__), "../../vertex")
KINDS = {
    "custom-job.yaml": messages.GoogleCloudAiplatformV1CustomJobSpec,
    "spot.yaml": messages.GoogleCloudAiplatformV1CustomJobSpec,
    "tuning-job.yaml": messages.GoogleCloudAiplatformV1HyperparameterTuningJob,
    "workers.yaml": messages.GoogleCloudAiplatformV1CustomJobSpec,
}


def main():
    assert sorted(KINDS) == sorted(os.listdir(FOLDER)), os.listdir(FOLDER)
    for name, kind in KINDS.items():
        message = messages_util.DictToMessageWithErrorCheck(yaml.load_path(os.path.join(FOLDER, name)), kind)
        print(name, "is a", type(message).__name__)


main()
