"""One workload under every way of sharing the GPU: analysed, simulated, compared."""

from __future__ import annotations

# It adds what a saved answer for GPU instances consists of to the parts of all saved answers.
import gpusched.comparison.instances.mig_allocation  # noqa: F401
