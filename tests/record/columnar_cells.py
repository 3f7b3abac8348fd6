"""What readers must make of a value of pyarrow or NumPy, for record_parquet.py, record_arrow.py and record_numpy.py."""

import datetime
import decimal
import json
import math
import re
import uuid

import pandas as pd


def cell(value):
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return None
    if isinstance(value, int) and value >= 2**63:
        return str(value)  # as a double it would be equal to others
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, pd.Timedelta):
        return value.value
    if isinstance(value, datetime.timedelta):
        return round(value.total_seconds() * 1000)
    if isinstance(value, (pd.Timestamp, datetime.datetime, datetime.date, datetime.time)):
        return re.sub(r"(\.\d*?)0+(?=$|\+)", r"\1", str(value))
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        value = [{"key": key, "value": inner} for key, inner in value]
    if isinstance(value, (list, dict)):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return value
