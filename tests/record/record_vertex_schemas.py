"""Makes tests/testdata/vertex/schemas.json: which fields the configuration files of gcloud ai may have.

    pip install google-cloud-aiplatform
    python record_vertex_schemas.py >schemas.json

gcloud ai custom-jobs create --config reads a CustomJobSpec, and gcloud ai hp-tuning-jobs create --config a HyperparameterTuningJob.
"""

import json

from google.cloud.aiplatform_v1.types import CustomJobSpec, HyperparameterTuningJob
from google.protobuf.descriptor import FieldDescriptor

ROOTS = (CustomJobSpec, HyperparameterTuningJob)
WHOLE = "google.protobuf."  # messages with a text or an object of their own in JSON, such as Duration: "3600s"


def schema_of(field):
    kinds = FieldDescriptor
    if field.type == kinds.TYPE_MESSAGE:
        name = field.message_type.full_name
        return {"type": "string"} if name == WHOLE + "Duration" else {} if name.startswith(WHOLE) else {"$ref": "#/$defs/" + name}
    if field.type == kinds.TYPE_ENUM:
        return {"enum": [value.name for value in field.enum_type.values]}
    if field.type == kinds.TYPE_BOOL:
        return {"type": "boolean"}
    if field.type == kinds.TYPE_STRING:
        return {"type": "string"}
    if field.type in (kinds.TYPE_DOUBLE, kinds.TYPE_FLOAT):
        return {"type": "number"}
    return {"type": "integer"}


def is_list(field):
    return field.is_repeated if hasattr(field, "is_repeated") else field.label == FieldDescriptor.LABEL_REPEATED


def main():
    definitions, wanted = {}, [root.pb().DESCRIPTOR for root in ROOTS]
    while wanted:
        message = wanted.pop()
        if message.full_name in definitions:
            continue
        properties = {}
        for field in message.fields:
            if field.message_type and field.message_type.GetOptions().map_entry:
                properties[field.json_name] = {"type": "object"}
                continue
            schema = schema_of(field)
            properties[field.json_name] = {"type": "array", "items": schema} if is_list(field) else schema
            if "$ref" in schema:
                wanted.append(field.message_type)
        definitions[message.full_name] = {"type": "object", "properties": properties, "additionalProperties": False}
    lines = ["%s:%s" % (json.dumps(name), json.dumps(definitions[name], separators=(",", ":"))) for name in sorted(definitions)]
    print('{"$defs": {\n%s\n}}' % ",\n".join(lines))


main()
