"""Speaker encoders as ONNX files: their cards, checks of the files, folders, and the runtime."""
