"""The process of one job: what was asked for, the audit or evaluation, and what the page shows of it."""
