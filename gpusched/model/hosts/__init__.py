"""Parts of `HostTasks`: arrays from arguments, their checks, tables, text."""
