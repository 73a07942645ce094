"""Attackers: speech to embeddings, embeddings to scores, and what each attacker knows and was trained on."""
