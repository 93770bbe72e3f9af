"""Drawing: the timeline model and its back ends (Matplotlib, SVG, Chrome traces), figures."""
