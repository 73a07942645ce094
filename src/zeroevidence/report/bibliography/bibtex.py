"""BibTeX of the measures' sources and of this toolkit."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence._version import __version__
from zeroevidence.measure.measures import MEASURES


def software() -> str:
    """Entry for this version of the toolkit."""
    return _entry(
        "software",
        "zeroevidence",
        author="{The zeroevidence authors}",
        title="zeroevidence: evidence that protected speech gives about its speaker",
        version=__version__,
        year="2026",
    )


def bibtex(measures: Sequence[str] = ()) -> str:
    """BibTeX for this toolkit and the named measures, for all measures unless some are named."""
    entries = [MEASURES.find(name) for name in measures] or MEASURES.values()
    keys = dict.fromkeys(key for entry in entries for key in entry.references)
    return "\n".join([software(), *(BIBTEX[key] for key in keys)])


def _entry(kind: str, key: str, **fields: str) -> str:
    body = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return f"@{kind}{{{key},\n{body}}}\n"


BIBTEX: dict[str, str] = {
    "brummer2006": _entry(
        "article",
        "brummer2006",
        author='Br{\\"u}mmer, Niko and du Preez, Johan',
        title="Application-independent evaluation of speaker detection",
        journal="Computer Speech \\& Language",
        volume="20",
        number="2--3",
        pages="230--275",
        year="2006",
    ),
    "vanleeuwen2007": _entry(
        "incollection",
        "vanleeuwen2007",
        author='van Leeuwen, David A. and Br{\\"u}mmer, Niko',
        title="An introduction to application-independent evaluation of speaker recognition systems",
        booktitle="Speaker Classification I",
        publisher="Springer",
        pages="330--353",
        year="2007",
    ),
    "nautsch2020": _entry(
        "inproceedings",
        "nautsch2020",
        author="Nautsch, Andreas and Patino, Jose and Tomashenko, Natalia and Yamagishi, Junichi and No{\\'e}, "
        "Paul-Gauthier and Bonastre, Jean-Fran{\\c{c}}ois and Todisco, Massimiliano and Evans, Nicholas",
        title="The Privacy {ZEBRA}: Zero Evidence Biometric Recognition Assessment",
        booktitle="Proc. Interspeech",
        pages="1698--1702",
        year="2020",
        doi="10.21437/Interspeech.2020-1815",
    ),
    "noe2020": _entry(
        "inproceedings",
        "noe2020",
        author="No{\\'e}, Paul-Gauthier and Bonastre, Jean-Fran{\\c{c}}ois and Matrouf, Driss and Tomashenko, Natalia "
        "and Nautsch, Andreas and Evans, Nicholas",
        title="Speech pseudonymisation assessment using voice similarity matrices",
        booktitle="Proc. Interspeech",
        pages="1718--1722",
        year="2020",
    ),
    "noe2022": _entry(
        "inproceedings",
        "noe2022",
        author="No{\\'e}, Paul-Gauthier and Nautsch, Andreas and Matrouf, Driss and Bousquet, Pierre-Michel and "
        "Bonastre, Jean-Fran{\\c{c}}ois",
        title="A bridge between features and evidence for binary attribute-driven perfect privacy",
        booktitle="Proc. ICASSP",
        year="2022",
    ),
    "ross2014": _entry(
        "article",
        "ross2014",
        author="Ross, Brian C.",
        title="Mutual information between discrete and continuous data sets",
        journal="PLoS ONE",
        volume="9",
        number="2",
        pages="1--5",
        year="2014",
    ),
    "barber2003": _entry(
        "inproceedings",
        "barber2003",
        author="Barber, David and Agakov, Felix",
        title="The {IM} algorithm: a variational approach to information maximization",
        booktitle="Proc. NIPS",
        pages="201--208",
        year="2003",
    ),
    "oord2018": _entry(
        "misc",
        "oord2018",
        author="van den Oord, Aaron and Li, Yazhe and Vinyals, Oriol",
        title="Representation learning with contrastive predictive coding",
        note="arXiv:1807.03748",
        year="2018",
    ),
    "pearson1895": _entry(
        "article",
        "pearson1895",
        author="Pearson, Karl",
        title="Note on regression and inheritance in the case of two parents",
        journal="Proceedings of the Royal Society of London",
        volume="58",
        pages="240--242",
        year="1895",
    ),
    "spearman1904": _entry(
        "article",
        "spearman1904",
        author="Spearman, Charles",
        title="The proof and measurement of association between two things",
        journal="American Journal of Psychology",
        volume="15",
        number="1",
        pages="72--101",
        year="1904",
    ),
    "willmott2005": _entry(
        "article",
        "willmott2005",
        author="Willmott, Cort J. and Matsuura, Kenji",
        title="Advantages of the mean absolute error ({MAE}) over the root mean square error ({RMSE}) in assessing "
        "average model performance",
        journal="Climate Research",
        volume="30",
        pages="79--82",
        year="2005",
    ),
    "gomezbarrero2018": _entry(
        "article",
        "gomezbarrero2018",
        author="Gomez-Barrero, Marta and Galbally, Javier and Rathgeb, Christian and Busch, Christoph",
        title="General framework to evaluate unlinkability in biometric template protection systems",
        journal="IEEE Transactions on Information Forensics and Security",
        volume="13",
        number="6",
        pages="1406--1420",
        year="2018",
    ),
    "maouche2020": _entry(
        "inproceedings",
        "maouche2020",
        author="Maouche, Mohamed and Srivastava, Brij Mohan Lal and Vauquier, Nathalie and Bellet, Aur{\\'e}lien and "
        "Tommasi, Marc and Vincent, Emmanuel",
        title="A comparative study of speech anonymization metrics",
        booktitle="Proc. Interspeech",
        pages="1708--1712",
        year="2020",
    ),
    "carlini2022": _entry(
        "inproceedings",
        "carlini2022",
        author="Carlini, Nicholas and Chien, Steve and Nasr, Milad and Song, Shuang and Terzis, Andreas and "
        "Tram{\\`e}r, Florian",
        title="Membership inference attacks from first principles",
        booktitle="Proc. IEEE Symposium on Security and Privacy",
        pages="1897--1914",
        year="2022",
    ),
    "sterns2026": _entry(
        "misc",
        "sterns2026",
        author="{\\v{S}}terns, D{\\=a}vis and Drossos, Konstantinos and Fernandes, Natasha and "
        'B{\\"a}ckstr{\\"o}m, Tom and Palamidessi, Catuscia',
        title="Goodbye Equal Error Rate, Hello Local Information Disclosure: Evaluating Voice Anonymisation against "
        "1-to-{N} Linkage Threats",
        year="2026",
    ),
    "vergeer2016": _entry(
        "article",
        "vergeer2016",
        author="Vergeer, Peter and van Es, Andrew and de Jongh, Arent and Alberink, Ivo and Stoel, Reinoud",
        title="Numerical likelihood ratios outputted by {LR} systems are often based on extrapolation: When to stop "
        "extrapolating?",
        journal="Science and Justice",
        volume="56",
        pages="482--491",
        year="2016",
    ),
    "morris2004": _entry(
        "inproceedings",
        "morris2004",
        author="Morris, Andrew Cameron and Maier, Viktoria and Green, Phil",
        title="From {WER} and {RIL} to {MER} and {WIL}: improved evaluation measures for connected speech recognition",
        booktitle="Proc. Interspeech",
        year="2004",
    ),
    "schuller2009": _entry(
        "inproceedings",
        "schuller2009",
        author='Schuller, Bj{\\"o}rn and Steidl, Stefan and Batliner, Anton',
        title="The {INTERSPEECH} 2009 Emotion Challenge",
        booktitle="Proc. Interspeech",
        year="2009",
    ),
    "tomashenko2022": _entry(
        "misc",
        "tomashenko2022",
        author="Tomashenko, Natalia and Wang, Xin and Miao, Xiaoxiao and Nourtel, Hubert and Champion, Pierre and "
        "Todisco, Massimiliano and Vincent, Emmanuel and Evans, Nicholas and Yamagishi, Junichi and "
        "Bonastre, Jean-Fran{\\c{c}}ois",
        title="The {VoicePrivacy} 2022 Challenge Evaluation Plan",
        note="arXiv:2203.12468",
        year="2022",
    ),
    "tomashenko2024": _entry(
        "misc",
        "tomashenko2024",
        author="Tomashenko, Natalia and Miao, Xiaoxiao and Champion, Pierre and Meyer, Sarina and Wang, Xin and "
        "Vincent, Emmanuel and Panariello, Michele and Evans, Nicholas and Yamagishi, Junichi and "
        "Todisco, Massimiliano",
        title="The {VoicePrivacy} 2024 Challenge Evaluation Plan",
        note="arXiv:2404.02677",
        year="2024",
    ),
    "vergeer2021": _entry(
        "article",
        "vergeer2021",
        author="Vergeer, Peter and van Schaik, Yara and Sjerps, Marjan",
        title="Measuring calibration of likelihood-ratio systems: A comparison of four metrics, including a new metric "
        "{devPAV}",
        journal="Forensic Science International",
        volume="321",
        pages="110722",
        year="2021",
    ),
    "backstrom2026": _entry(
        "article",
        "backstrom2026",
        author='B{\\"a}ckstr{\\"o}m, T. and Vali, M. H. and Nguyen, M. and Rech, S.',
        title="Privacy disclosure of similarity rank in speech and language processing",
        journal="IEEE Transactions on Audio, Speech and Language Processing",
        volume="34",
        pages="196--205",
        year="2026",
    ),
    "vauquier2025": _entry(
        "inproceedings",
        "vauquier2025",
        author="Vauquier, N. and Srivastava, B. M. L. and Hosseini, S. A. and Vincent, E.",
        title="Legally validated evaluation framework for voice anonymization",
        booktitle="Proc. Interspeech",
        pages="3224--3228",
        year="2025",
    ),
    "kinnunen2020": _entry(
        "article",
        "kinnunen2020",
        author="Kinnunen, Tomi and Delgado, H{\\'e}ctor and Evans, Nicholas and Lee, Kong Aik and Vestman, Ville and "
        "Nautsch, Andreas and Todisco, Massimiliano and Wang, Xin and Sahidullah, Md and Yamagishi, Junichi and "
        "Reynolds, Douglas A.",
        title="Tandem assessment of spoofing countermeasures and automatic speaker verification: fundamentals",
        journal="IEEE/ACM Transactions on Audio, Speech, and Language Processing",
        volume="28",
        pages="2195--2210",
        year="2020",
        doi="10.1109/TASLP.2020.3009494",
    ),
    "kinnunen2023": _entry(
        "article",
        "kinnunen2023",
        author="Kinnunen, Tomi H. and Lee, Kong Aik and Tak, Hemlata and Evans, Nicholas and Nautsch, Andreas",
        title="{t-EER}: parameter-free tandem evaluation of countermeasures and biometric comparators",
        journal="IEEE Transactions on Pattern Analysis and Machine Intelligence",
        year="2023",
        doi="10.1109/TPAMI.2023.3313648",
    ),
    "shim2024": _entry(
        "inproceedings",
        "shim2024",
        author="Shim, Hye-jin and Jung, Jee-weon and Kinnunen, Tomi and Evans, Nicholas and Bonastre, "
        "Jean-Fran{\\c{c}}ois and Lapidot, Itshak",
        title="{a-DCF}: an architecture agnostic metric with application to spoofing-robust speaker verification",
        booktitle="Proc. Odyssey",
        year="2024",
    ),
    "jung2022": _entry(
        "inproceedings",
        "jung2022",
        author="Jung, Jee-weon and Tak, Hemlata and Shim, Hye-jin and Heo, Hee-Soo and Lee, Bong-Jin and "
        "Chung, Soo-Whan and Yu, Ha-Jin and Evans, Nicholas and Kinnunen, Tomi",
        title="{SASV} 2022: the first spoofing-aware speaker verification challenge",
        booktitle="Proc. Interspeech",
        year="2022",
    ),
    "wang2024": _entry(
        "inproceedings",
        "wang2024",
        author="Wang, Xin and Delgado, H{\\'e}ctor and Tak, Hemlata and Jung, Jee-weon and Shim, Hye-jin and "
        "Todisco, Massimiliano and Kukanov, Ivan and Liu, Xuechen and Sahidullah, Md and Kinnunen, Tomi and "
        "Evans, Nicholas and Lee, Kong Aik and Yamagishi, Junichi",
        title="{ASVspoof} 5: crowdsourced speech data, deepfakes, and adversarial attacks at scale",
        booktitle="Proc. ASVspoof Workshop",
        year="2024",
    ),
}
