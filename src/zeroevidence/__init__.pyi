"""The public names, each from the module that defines it."""

from zeroevidence import (
    plot as plot,
)
from zeroevidence import (
    protect as protect,
)
from zeroevidence import (
    scorers as scorers,
)
from zeroevidence.auditing import (
    Audit as Audit,
)
from zeroevidence.auditing import (
    AuditOptions as AuditOptions,
)
from zeroevidence.auditing import (
    EmbeddingSets as EmbeddingSets,
)
from zeroevidence.auditing import (
    audit as audit,
)
from zeroevidence.auditing import (
    audit_corpora as audit_corpora,
)
from zeroevidence.auditing import (
    read_speech as read_speech,
)
from zeroevidence.data.embeddings import Embeddings as Embeddings
from zeroevidence.data.formats.asvspoof import read_tandem as read_tandem
from zeroevidence.data.formats.asvspoof_sides import TandemFiles as TandemFiles
from zeroevidence.data.formats.scores.read import read_scores as read_scores
from zeroevidence.data.formats.scores.score_format import ReadingOptions as ReadingOptions
from zeroevidence.data.formats.vectors.read import read_embeddings as read_embeddings
from zeroevidence.data.matrix import ScoreMatrix as ScoreMatrix
from zeroevidence.data.scores import (
    Pairs as Pairs,
)
from zeroevidence.data.scores import (
    Scores as Scores,
)
from zeroevidence.data.scores import TandemScores as TandemScores
from zeroevidence.data.threat import ThreatModel as ThreatModel
from zeroevidence.errors import (
    InputError as InputError,
)
from zeroevidence.errors import (
    MissingExtra as MissingExtra,
)
from zeroevidence.errors import (
    UsageError as UsageError,
)
from zeroevidence.errors import (
    ZeroEvidenceError as ZeroEvidenceError,
)
from zeroevidence.evaluation import (
    About as About,
)
from zeroevidence.evaluation import (
    Comparison as Comparison,
)
from zeroevidence.evaluation import (
    Evaluation as Evaluation,
)
from zeroevidence.evaluation import (
    Finding as Finding,
)
from zeroevidence.evaluation import (
    Flag as Flag,
)
from zeroevidence.evaluation import (
    MeasureResult as MeasureResult,
)
from zeroevidence.evaluation import (
    Options as Options,
)
from zeroevidence.evaluation import (
    compare as compare,
)
from zeroevidence.evaluation import (
    evaluate as evaluate,
)
from zeroevidence.evaluation import (
    findings as findings,
)
from zeroevidence.evaluation import (
    read_result as read_result,
)
from zeroevidence.evaluation import (
    read_results as read_results,
)
from zeroevidence.evaluation import (
    save_results as save_results,
)
from zeroevidence.evaluation.needed import Plan as Plan
from zeroevidence.evaluation.plan import PlanOptions as PlanOptions
from zeroevidence.evaluation.plan import plan as plan
from zeroevidence.evaluation.plan import plan_from_pilot as plan_from_pilot
from zeroevidence.evaluation.results import link as link
from zeroevidence.evaluation.score_checks import threshold as threshold
from zeroevidence.evaluation.tandem import evaluate_tandem as evaluate_tandem
from zeroevidence.linkage.plan import LinkOptions as LinkOptions
from zeroevidence.measure.pairs.linkability import (
    linkability as linkability,
)
from zeroevidence.measure.pairs.linkability import (
    local_linkability as local_linkability,
)
from zeroevidence.measure.pairs.llrs import devpav as devpav
from zeroevidence.measure.pairs.llrs import elub as elub
from zeroevidence.measure.pairs.llrs import invariance_bounds as invariance_bounds
from zeroevidence.measure.pairs.llrs import llr_overestimation as llr_overestimation
from zeroevidence.measure.pairs.llrs import misleading_evidence as misleading_evidence
from zeroevidence.measure.pairs.verification import (
    cllr as cllr,
)
from zeroevidence.measure.pairs.verification import (
    cllr_min as cllr_min,
)
from zeroevidence.measure.pairs.verification import (
    dcf_act as dcf_act,
)
from zeroevidence.measure.pairs.verification import (
    dcf_min as dcf_min,
)
from zeroevidence.measure.pairs.verification import (
    eer as eer,
)
from zeroevidence.measure.pairs.verification import (
    tpr_at_fpr as tpr_at_fpr,
)
from zeroevidence.measure.pairs.zebra import (
    d_ece as d_ece,
)
from zeroevidence.measure.pairs.zebra import (
    d_ece_actual as d_ece_actual,
)
from zeroevidence.measure.pairs.zebra import (
    ece_profile as ece_profile,
)
from zeroevidence.measure.pairs.zebra import (
    tag as tag,
)
from zeroevidence.measure.pairs.zebra import (
    tag_counts as tag_counts,
)
from zeroevidence.measure.pairs.zebra import (
    worst_case as worst_case,
)
from zeroevidence.measure.similarity import (
    deid as deid,
)
from zeroevidence.measure.similarity import (
    similarity_matrix as similarity_matrix,
)
from zeroevidence.measure.similarity import (
    voice_distinctiveness_gain as voice_distinctiveness_gain,
)
from zeroevidence.protect.anonymise import Anonymised as Anonymised
from zeroevidence.protect.anonymise import AnonymiseOptions as AnonymiseOptions
from zeroevidence.protect.anonymise import anonymise as anonymise
from zeroevidence.protect.models import load as load
from zeroevidence.run import Run as Run

__version__: str

# Former names, which warn.
Metric = MeasureResult
