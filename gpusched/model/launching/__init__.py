"""Parts of `Launches`: columns and their checks, partitions, the recorder, tables."""
