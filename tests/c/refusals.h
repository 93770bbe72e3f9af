/* Models of which one number after the other is replaced by one that must be refused.
 *
 *     const refused_t wrong[] = {{&model.contexts, 0, "contexts", -1, GS_ERR_VALUE}};
 *     refuse_each(wrong, 1, open_and_close, &model);
 */
#ifndef REFUSALS_H
#define REFUSALS_H

#include <string.h>

#include "core/context.h"
#include "minunit.h"

typedef struct {
    int64_t *place;
    int64_t value;
    const char *field; /* of the error */
    int64_t row;
    int code;
} refused_t;

/* Runs what is tested once and frees everything. */
typedef int refused_call_t(gs_context_t *ctx, void *model);

static inline void refuse_each(const refused_t *wrong, size_t count, refused_call_t *call,
                               void *model)
{
    for (size_t i = 0; i < count; i++) {
        int64_t kept = *wrong[i].place;
        gs_context_t ctx;
        gs_context_init(&ctx);
        *wrong[i].place = wrong[i].value;
        int status = call(&ctx, model);
        *wrong[i].place = kept;
        MU_CHECK(status == wrong[i].code && ctx.bytes_used == 0);
        bool named = status < 0 && ctx.fault.field != NULL &&
                     strcmp(ctx.fault.field, wrong[i].field) == 0 && ctx.fault.row == wrong[i].row;
        MU_CHECK(named);
        if (!named || status != wrong[i].code) {
            fprintf(stderr, "case %zu: %s[%lld] = %lld: status %d, %s[%lld]\n", i, wrong[i].field,
                    (long long)wrong[i].row, (long long)wrong[i].value, status,
                    ctx.fault.field == NULL ? "nothing" : ctx.fault.field,
                    (long long)ctx.fault.row);
        }
    }
    gs_context_t ctx;
    gs_context_init(&ctx);
    MU_CHECK(call(&ctx, model) == GS_OK); /* all are as they were */
}

#endif
