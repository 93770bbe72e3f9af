/* Checks for the C tests: each test is one executable that counts its failures.
 *
 *     int main(void)
 *     {
 *         MU_CHECK(1 + 1 == 2);
 *         return MU_END();
 *     }
 */
#ifndef MINUNIT_H
#define MINUNIT_H

#include <stdio.h>

static int mu_checks, mu_failures;

static inline void mu_check(int ok, const char *file, int line, const char *expression)
{
    mu_checks++;
    if (!ok) {
        mu_failures++;
        fprintf(stderr, "%s:%d: failed: %s\n", file, line, expression);
    }
}

/* Says how it went; a test without a single check has failed. */
static inline int mu_end(void)
{
    fprintf(stderr, "%d checks, %d failed\n", mu_checks, mu_failures);
    return mu_failures != 0 || mu_checks == 0;
}

/* The condition is evaluated once; the test goes on after a failure. */
#define MU_CHECK(condition) mu_check((condition) ? 1 : 0, __FILE__, __LINE__, #condition)

/* The exit status of the test. */
#define MU_END() mu_end()

#endif
