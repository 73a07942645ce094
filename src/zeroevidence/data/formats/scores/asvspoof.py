"""Files of the ASVspoof challenges: scores and keys of a countermeasure (cm) and of the verifier behind it (asv).

Where scores of single trials have a label, these have a key of three kinds and the attack behind a spoof. Further
columns describe the recording; results can be divided by them.
"""

from __future__ import annotations

from collections import Counter

from zeroevidence.data.formats import text
from zeroevidence.data.formats.scores.reading.layout import TANDEM_ROLES, Layout, Lines, Role
from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS, Columns, FirstLines, ScoreFormat
from zeroevidence.data.tandem import KINDS
from zeroevidence.errors import InputError

TABLE = "asvspoof5"
_NAMES = {
    **dict.fromkeys(("spk", "speaker", "tar_spk_anon"), "enrol"),
    **dict.fromkeys(("filename", "utterance", "trial", "trial_anon"), "trial"),
    **{f"{side}{mark}score": f"{side}_score" for side in KINDS for mark in "-_"},
    **{f"{side}{mark}label": f"{side}_key" for side in ("cm", "asv") for mark in "-_"},
    **dict.fromkeys(("attack", "attack_anon"), "attack"),
}
_COLUMNS: dict[str, dict[Role, str]] = {
    "2019": {
        "cm": "trial attack key score",
        "asv": "attack key score",
        "cm_key": "speaker trial environment attack key",
        "asv_key": "enrol trial attack key",
    },
    "2021": {
        "cm": "trial score",
        "asv": "enrol trial score",
        "cm_key": "speaker trial codec channel attack key trim phase",
        "asv_key": "enrol trial codec channel attack key trim phase",
    },
    "adcf": {"asv": "enrol trial score key"},
    "2021 DF": {
        "cm_key": "speaker trial codec channel attack key trim phase vocoder task team gender_pair language",
    },
    "2021 PA": {
        "cm_key": "speaker trial asv_room asv_mic dis_to_asv att_room att_mic att_d att_to_spk key trim phase",
    },
    "5 track 1": {"cm_key": "speaker trial gender codec codec_q codec_seed attack_tag attack key tmp"},
    "5 track 2": {"asv_key": "enrol trial gender attack key"},
}
_DESCRIPTIONS = {
    "2019": "ASVspoof 2019, `trial attack key score` of a countermeasure, `attack key score` of a verifier",
    "2021": "ASVspoof 2021, `trial score` of a countermeasure, `enrol trial score` of a verifier",
    "adcf": "a-DCF, `enrol trial score key` of a verifier",
    "2021 DF": "key of the deepfake task of ASVspoof 2021",
    "2021 PA": "key of the physical access task of ASVspoof 2021",
    "5 track 1": "protocol of the first track of ASVspoof 5",
    "5 track 2": "protocol of the second track of ASVspoof 5",
}


def header(lines: Lines, name: str) -> Layout | None:
    """Return the layout of a first line that names a known column beside the file names."""
    number, line = lines[0]
    for separator in (",", " "):
        cells = text.split(line, separator)
        if isinstance(cells, str):
            continue
        columns = tuple(_NAMES.get(cell.lower(), "") for cell in cells)
        named = Counter(filter(None, columns))
        if "trial" not in named or named.total() < 2 or any(map(text.is_number, cells)):
            continue
        column, times = named.most_common(1)[0]
        if times > 1:
            both = " and ".join(repr(cell) for cell in cells if _NAMES.get(cell.lower()) == column)
            raise InputError(f"columns {both} mean the same; expected one", path=name, line=number)
        return Layout(TABLE, columns, separator, number, tuple(cells))
    return None


for _place, (_name, _roles) in enumerate(_COLUMNS.items(), 200):
    _columns = Columns(tandem={role: tuple(columns.split()) for role, columns in _roles.items()})
    SCORE_FORMATS.add(ScoreFormat(name=_name, description=_DESCRIPTIONS[_name], text=_columns, place=_place))
SCORE_FORMATS.add(
    ScoreFormat(
        name=TABLE,
        description="ASVspoof 5, a header such as `spk filename cm-score`",
        text=FirstLines(
            header, lacking="no header; expected column names such as spk filename cm-score", roles=TANDEM_ROLES
        ),
        place=201,
    )
)
