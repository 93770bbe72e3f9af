/* Response-time test for GCAPS as printed: [ECRTS24], Eqs. (9)-(14).
 *
 * It counts too few updates of less urgent tasks and neglects that an owner keeps the GPU idle
 * while it copies or waits for its core: unsound.
 */
#ifndef GS_ANALYSIS_CONTEXTS_GCAPS_PAPER_H
#define GS_ANALYSIS_CONTEXTS_GCAPS_PAPER_H

#include "analysis/contexts/context_test.h"

extern const gs_analysis_contexts_side_t gs_analysis_contexts_gcaps_paper;

#endif
