"""Tables and figures of [RTAS20], one module for each subject."""
