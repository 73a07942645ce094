"""What follows from rows: which attacker is strongest, what chance explains, whether a gate fails."""
