"""What an audit works on: embeddings by role, encoders, folds of speakers."""
