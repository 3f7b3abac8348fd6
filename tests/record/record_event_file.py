"""Writes tests/testdata/small.tfevents with the record writer and the protos of tensorboard (2.21)."""

import pathlib

from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.plugins.text import metadata as text_metadata
from tensorboard.summary.writer import record_writer
from tensorboard.util import tensor_util


def events():
    yield event_pb2.Event(wall_time=1700000000.5, file_version="brain.Event:2")
    value = summary_pb2.Summary.Value
    yield event_pb2.Event(
        wall_time=1700000001.25,
        step=0,
        summary=summary_pb2.Summary(value=[value(tag="loss", simple_value=0.0)]),
    )
    yield event_pb2.Event(
        wall_time=1700000002.0,
        step=300,
        summary=summary_pb2.Summary(
            value=[
                value(tag="loss", simple_value=0.5),
                value(tag="learning_rate", simple_value=5e-5),
            ]
        ),
    )
    text = "| a | b |\n|---|---|\n| \u00e9 | 2 |"
    yield event_pb2.Event(
        wall_time=1700000003.0,
        step=-1,
        summary=summary_pb2.Summary(
            value=[
                value(
                    tag="settings",
                    metadata=text_metadata.create_summary_metadata("", ""),
                    tensor=tensor_util.make_tensor_proto(text),
                )
            ]
        ),
    )


if __name__ == "__main__":
    path = pathlib.Path(__file__).parent.parent / "testdata" / "small.tfevents"
    with open(path, "wb") as file:
        writer = record_writer.RecordWriter(file)
        for event in events():
            writer.write(event.SerializeToString())
        writer.flush()
