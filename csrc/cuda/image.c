/* Kernels carried in this library.
 *
 * setup.py compiles spin.cu and writes a header with the path of the fatbin, which the assembler
 * includes in read-only data.
 */
#include "cuda/image.h"

#ifdef GS_CUDA_CONFIG
#include <gpusched_cuda_image.h>
#else
#define GS_CUDA_MISSING "built without the CUDA backend's kernels"
#endif

#ifdef GS_CUDA_FATBIN

__asm__(".pushsection .rodata\n"
        ".balign 64\n"
        ".globl gs_cuda_fatbin\n"
        ".hidden gs_cuda_fatbin\n"
        "gs_cuda_fatbin:\n"
        ".incbin \"" GS_CUDA_FATBIN "\"\n"
        ".byte 0\n"
        ".popsection\n");

extern const unsigned char gs_cuda_fatbin[] __attribute__((visibility("hidden")));

const void *gs_cuda_image(void)
{
    return gs_cuda_fatbin;
}

int gs_cuda_image_toolkit(void)
{
    return GS_CUDA_TOOLKIT;
}

const char *gs_cuda_image_missing(void)
{
    return "";
}

#else

const void *gs_cuda_image(void)
{
    return NULL;
}

int gs_cuda_image_toolkit(void)
{
    return 0;
}

const char *gs_cuda_image_missing(void)
{
    return GS_CUDA_MISSING;
}

#endif
