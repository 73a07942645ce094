"""The public names, each from the module that defines it."""

from zeroevidence.protect.assessment.class_attacks import AttackOptions as AttackOptions
from zeroevidence.protect.assessment.class_attacks import assess as assess
from zeroevidence.protect.assessment.labels import Roles as Roles
from zeroevidence.protect.attributes import make_protector as make_protector
from zeroevidence.protect.attributes.adversarial import AdversarialAutoencoder as AdversarialAutoencoder
from zeroevidence.protect.attributes.closed_form import Leace as Leace
from zeroevidence.protect.attributes.closed_form import LinearNuller as LinearNuller
from zeroevidence.protect.attributes.closed_form import Transport as Transport
from zeroevidence.protect.attributes.flow import ZeroEvidenceFlow as ZeroEvidenceFlow
from zeroevidence.protect.fitting import DefaultProtector as DefaultProtector
from zeroevidence.protect.fitting import FitOptions as FitOptions
from zeroevidence.protect.fitting import fit as fit
from zeroevidence.protect.models import ProtectorModel as ProtectorModel
from zeroevidence.protect.models import load_model as load_model
from zeroevidence.protect.models import new_model as new_model
from zeroevidence.protect.models import save_model as save_model
from zeroevidence.protect.voices import VoiceProtector as VoiceProtector
from zeroevidence.protect.voices import load_protector as load_protector
from zeroevidence.protect.voices.external import External as External
from zeroevidence.protect.voices.shift import FormantShift as FormantShift
from zeroevidence.protect.voices.shift import McAdams as McAdams
from zeroevidence.protect.voices.shift import PitchShift as PitchShift
