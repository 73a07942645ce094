"""Tables whose columns have names: text with a header, or Parquet."""

from zeroevidence.data.formats.input_file import PARQUET
from zeroevidence.data.formats.scores.named import TABLE, header
from zeroevidence.data.formats.scores.parquet import read_parquet
from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS, Binary, FirstLines, ScoreFormat

SCORE_FORMATS.add(
    ScoreFormat(
        name=TABLE,
        words="table with named columns: CSV, TSV or text with a header, Parquet",
        text=FirstLines(header, lacking="no header; expected column names such as enrol,trial,score,label"),
        binary=Binary((PARQUET,), read_parquet),
        place=50,
    )
)
