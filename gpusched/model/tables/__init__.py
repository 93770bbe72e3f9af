"""Parts of batch tables."""
