"""Check that the texts of a figure do not overlap or leave it."""

from itertools import combinations

from matplotlib.text import Text


def assert_legible(figure):
    """No two texts of a figure overlap, and none leaves it; returns the texts."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    hidden = set()
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            slack = 1e-9 * (high - low)
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not low - slack <= tick.get_loc() <= high + slack:  # not drawn
                    hidden |= {tick.label1, tick.label2}
    texts = [t for t in figure.findobj(Text) if t not in hidden]
    texts = [t for t in texts if t.get_visible() and t.get_text().strip()]
    found = [(t.get_text(), t.get_window_extent(renderer)) for t in texts]
    edge = figure.bbox
    for text, box in found:
        assert box.x0 >= edge.x0 - 1 and box.x1 <= edge.x1 + 1, f"{text!r} is cut off"
        assert box.y0 >= edge.y0 - 1 and box.y1 <= edge.y1 + 1, f"{text!r} is cut off"
    for (one, a), (other, b) in combinations(found, 2):
        overlap = a.padded(-0.5).overlaps(b.padded(-0.5))
        assert not overlap, f"{one!r} and {other!r} overlap"
    return [text for text, _ in found]
