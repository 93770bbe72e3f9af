/* Fatbin of the kernels, if the build had nvcc. */
#ifndef GS_CUDA_IMAGE_H
#define GS_CUDA_IMAGE_H

#include <stddef.h>

/* The fatbin, or NULL. */
const void *gs_cuda_image(void);

/* 1000 * major + 10 * minor of the toolkit that compiled it; 0 without. */
int gs_cuda_image_toolkit(void);

/* Reason for a missing image, a sentence for the user; "" if there is one. */
const char *gs_cuda_image_missing(void);

#endif
