"""Speaker encoders as networks that can be trained further, with weights from ONNX files and back.

An attacker who knows how voices are protected trains an encoder on protected speech. `load_onnx` makes a torch network
of a file that `ARCHITECTURES` recognises, which gives the embeddings that the file gives; `save_onnx` writes it for the
extractors after training. A network has a trunk (`frames`) and a head (`pooled`): without a GPU, the trunk's output can
be computed once and kept, and the head trained alone.

`speaker_network`, `campplus` and `ecapa`, which hold the networks themselves, import torch; the others import neither
torch nor onnx before they are used.
"""
