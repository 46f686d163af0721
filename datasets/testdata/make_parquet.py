"""Write pyarrow.parquet, a small file with the layout of Hugging Face's audio datasets.

    python datasets/testdata/make_parquet.py

Pinned: pyarrow 26.0.1. Rows 4 (no audio) and 6 (no text) are broken on purpose.
"""

import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

rows = [
    {
        "id": f"utt-{i}",
        "audio": {"bytes": bytes([82, 73, 70, 70, i]), "path": f"{i}.wav"} if i != 3 else {"bytes": None, "path": None},
        "text": f"text {i} \u00e9" if i != 5 else None,
        "speaker_id": i * 7,
        "duration": 0.5 * i,
        "words": ["a", "b"],
    }
    for i in range(8)
]
schema = pa.schema([
    ("id", pa.string()),
    ("audio", pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
    ("text", pa.string()),
    ("speaker_id", pa.int64()),
    ("duration", pa.float64()),
    ("words", pa.list_(pa.string())),
])
pq.write_table(pa.Table.from_pylist(rows, schema=schema), pathlib.Path(__file__).with_name("pyarrow.parquet"), row_group_size=3, compression="snappy")
