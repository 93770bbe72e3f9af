/* Proofs of the PBS search as dictionaries of arrays. */
#ifndef GS_PYTHON_PBS_PY_REFUTATION_H
#define GS_PYTHON_PBS_PY_REFUTATION_H

#include "python/module.h"

/* None without a proof; NULL with an exception. Keys, times in ticks:
 *
 * kind "window": window (None: the long run), prices (n,), scale, load
 * kind "interval": from, to, tasks, least
 * kind "closed": windows (W,), window_prices (W, n), scales (W,), entry_start (E,), entry_pending
 * (E, n), entry_latest (E,), span_begin (E + 1,), span_first (S,), span_last (S,) kind "core": core
 * (q,), proof (one of the above, about these tasks) */
PyObject *gs_python_pbs_refutation(const gs_pbs_refutation_t *proof);

#endif
