#!/usr/bin/env python3
"""Writes tests/testdata/plugins.tfevents with tensorboard's own messages.

    python tests/record/record_plugin_events.py

Needs tensorboard.
"""

import pathlib

import numpy
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2, types_pb2
from tensorboard.plugins.hparams import api_pb2, plugin_data_pb2
from tensorboard.plugins.image import metadata as image_metadata
from tensorboard.plugins.pr_curve import metadata as pr_curve_metadata
from tensorboard.summary.writer.record_writer import RecordWriter

PATH = pathlib.Path(__file__).parent.parent / "testdata" / "plugins.tfevents"


def hparams_value(tag, content):
    tensor = tensor_pb2.TensorProto(dtype=types_pb2.DT_FLOAT, tensor_shape=tensor_shape_pb2.TensorShapeProto())
    metadata = summary_pb2.SummaryMetadata(
        plugin_data=summary_pb2.SummaryMetadata.PluginData(plugin_name="hparams", content=content.SerializeToString(deterministic=True)))
    return summary_pb2.Summary.Value(tag=tag, metadata=metadata, tensor=tensor)


def shape_of(*sizes):
    return tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=size) for size in sizes])


def start():
    info = plugin_data_pb2.SessionStartInfo(start_time_secs=1700000001.25)
    info.hparams["batch-size"].number_value = 16
    info.hparams["recompute"].bool_value = True
    info.hparams["lr-scheduler-type"].string_value = "linear"
    return hparams_value("_hparams_/session_start_info", plugin_data_pb2.HParamsPluginData(session_start_info=info))


def end():
    info = plugin_data_pb2.SessionEndInfo(status=api_pb2.STATUS_SUCCESS, end_time_secs=1700000002.5)
    return hparams_value("_hparams_/session_end_info", plugin_data_pb2.HParamsPluginData(session_end_info=info))


def histogram():
    buckets = numpy.array([[-1, 0, 3], [0, 1, 5]], dtype=numpy.float64)
    tensor = tensor_pb2.TensorProto(dtype=types_pb2.DT_DOUBLE, tensor_shape=shape_of(*buckets.shape), tensor_content=buckets.tobytes())
    metadata = summary_pb2.SummaryMetadata(plugin_data=summary_pb2.SummaryMetadata.PluginData(plugin_name="histograms", content=b""),
                                           data_class=summary_pb2.DATA_CLASS_TENSOR)
    return summary_pb2.Summary.Value(tag="encoder.layer.0/bias", metadata=metadata, tensor=tensor)


def pr_curve():
    rows = numpy.array([[3, 1], [2, 0], [0, 2], [0, 2], [0.6, 1], [1, 0.25]], dtype=numpy.float32)
    tensor = tensor_pb2.TensorProto(dtype=types_pb2.DT_FLOAT, tensor_shape=shape_of(*rows.shape), tensor_content=rows.tobytes())
    metadata = pr_curve_metadata.create_summary_metadata("", "", rows.shape[1])
    metadata.data_class = summary_pb2.DATA_CLASS_TENSOR
    return summary_pb2.Summary.Value(tag="pr_curves/spam", metadata=metadata, tensor=tensor)


def image():
    tensor = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING, tensor_shape=shape_of(3), string_val=[b"12", b"7", b"\x89PNG\x00"])
    metadata = image_metadata.create_summary_metadata("", "rows are *true* classes")
    metadata.data_class = summary_pb2.DATA_CLASS_BLOB_SEQUENCE
    return summary_pb2.Summary.Value(tag="confusion_matrix", metadata=metadata, tensor=tensor)


RECORDS = [(1700000001.25, 0, start()), (1700000002.5, 0, end()), (1700000003.0, 300, histogram()), (1700000004.0, 301, pr_curve()),
           (1700000005.0, 302, image())]
with open(PATH, "wb") as file:
    writer = RecordWriter(file)
    for wall_time, step, value in RECORDS:
        event = event_pb2.Event(wall_time=wall_time, step=step, summary=summary_pb2.Summary(value=[value]))
        writer.write(event.SerializeToString(deterministic=True))
