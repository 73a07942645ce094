"""McAdams on AudioMNIST against attackers of growing knowledge, for trials of ten, two and one digits.

    python benchmarks/audit_audiomnist.py CORPUS EXTRACTOR [--cache FOLDER] [--pieces 0 2 1] [--threads 2]

CORPUS is the folder of AudioMNIST digit strings with `segments.tsv`, EXTRACTOR what `audit --extractor` takes.
`--pieces 0` leaves the trials whole. Prints a Markdown table: top-1, ALID and EER with 95 % intervals.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from zeroevidence.attack.extractors import load_extractor
from zeroevidence.attack.extractors.extract import extract
from zeroevidence.auditing import AuditOptions, EmbeddingSets, audit
from zeroevidence.data.formats.corpora import read_corpus, read_segments
from zeroevidence.evaluation import Options
from zeroevidence.protect import load_protector
from zeroevidence.report.table import result_cell
from zeroevidence.run import Run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("extractor")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--pieces", type=int, nargs="+", default=[0, 2, 1])
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    extractor, run = load_extractor(arguments.extractor), Run(cores=arguments.threads, cache=arguments.cache)
    segments = read_segments(arguments.corpus / "segments.tsv")
    print("| digits per trial | attacker | top-1 [%] | ALID [bit] | EER [%] |")
    print("| ---: | --- | ---: | ---: | ---: |")
    for pieces in arguments.pieces:
        corpus = read_corpus(arguments.corpus, seed=0)
        corpus = corpus.cut(segments, pieces) if pieces else corpus
        utterances = list(corpus)
        split = np.array([utterance.split or "train" for utterance in utterances])
        role = np.array([utterance.role for utterance in utterances])
        sets = []
        for transform in (None, load_protector("mcadams")):
            embeddings = extract(utterances, extractor, transform=transform, run=run)
            sets.append(EmbeddingSets.from_roles(embeddings, split, role))
        options = Options(intervals=400, null=100)
        for row in audit(*sets, AuditOptions(backends=("cosine",), measuring=options, system="mcadams")).rows:
            values = " | ".join(result_cell(row.metrics[measure]).flat for measure in ("top1", "alid", "eer"))
            print(f"| {pieces or 10} | {row.about.threat.name} | {values} |", flush=True)


if __name__ == "__main__":
    main()
