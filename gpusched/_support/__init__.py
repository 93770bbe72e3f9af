"""Support code of all packages: argument checks, atomic files, progress, tables, text."""
