"""Protectors: of attributes, which take evidence out of embeddings, and of voices, so that there is something to audit.

Names are imported when they are first used, so a GPU node with only torch and NumPy can train a flow.
`attributes.ATTRIBUTE_PROTECTORS` and `voices.VOICE_PROTECTORS` list them.
"""

from zeroevidence._lazy import attach

__getattr__, __dir__ = attach(__name__, __file__)
