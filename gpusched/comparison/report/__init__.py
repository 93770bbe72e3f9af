"""Reports of comparisons: one self-contained HTML page, and a folder with its data and traces."""
