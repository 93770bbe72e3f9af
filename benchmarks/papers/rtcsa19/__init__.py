"""Claims of [RTCSA19], a module for each part of its text."""
