"""Parts of `HostTasks`: columns, arrays from arguments and their checks, tables, text."""
