"""One description of a program for every method: tasks, their segments, the platform, files."""
