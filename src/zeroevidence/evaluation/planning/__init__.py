"""How many people an evaluation needs."""
