"""One run on a machine with a GPU: every probe and measurement, kept in one archive."""
