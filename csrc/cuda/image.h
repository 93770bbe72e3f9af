/* The kernels, compiled by nvcc and carried in this library, if the build had it. */
#ifndef GS_CUDA_IMAGE_H
#define GS_CUDA_IMAGE_H

#include <stddef.h>

/* The fatbin, or NULL. */
const void *gs_cuda_image(void);

/* 1000 * major + 10 * minor of the toolkit that made it; 0 without. */
int gs_cuda_image_toolkit(void);

/* Why there is none, a sentence for users; "" with one. */
const char *gs_cuda_image_missing(void);

#endif
