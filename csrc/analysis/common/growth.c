/* Lower bounds of fixed points W = f(W) from the rate at which f grows. */
#include "analysis/common/growth.h"

#define ONE ((gs_int128_t)1 << 60)

void gs_analysis_common_growth_start(gs_analysis_common_growth_t *self, int64_t value)
{
    *self = (gs_analysis_common_growth_t){.value = value};
}

static void add_saturating(gs_int128_t *sum, gs_int128_t share, int64_t distance)
{
    gs_int128_t product;
    if (!gs_int128_mul(share, distance, &product) || !gs_int128_add(*sum, product, sum)) {
        *sum = GS_INT128_MAX;
    }
}

void gs_analysis_common_growth_add(gs_analysis_common_growth_t *self, int64_t each, int64_t work,
                                   int64_t period, int64_t until)
{
    gs_int128_t share;
    if (!gs_int128_mul(each, work, &share) || !gs_int128_mul(share, ONE, &share)) {
        return; /* more than 2^66 a period: the next job saturates f */
    }
    share /= period;
    add_saturating(&self->rate, share, 1);
    if (until <= self->value) {
        add_saturating(&self->behind, share, self->value - until);
    } else {
        add_saturating(&self->ahead, share + 1, until - self->value);
    }
}

int64_t gs_analysis_common_growth_least(const gs_analysis_common_growth_t *self, int64_t deadline)
{
    if (self->behind <= self->ahead) {
        return self->value;
    }
    if (self->rate >= ONE) {
        return deadline + 1;
    }
    gs_int128_t more = gs_int128_ceil_div(self->behind - self->ahead, ONE - self->rate);
    return more > deadline - self->value ? deadline + 1 : self->value + (int64_t)more;
}
