"""Choice of cores for tests of tasks that stay on their cores."""
