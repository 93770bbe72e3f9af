"""Drawing back ends of all pictures: matplotlib helpers, SVG, Chrome traces, lanes."""
