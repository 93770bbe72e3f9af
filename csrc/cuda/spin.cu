// Spin kernel: occupies an SM for a known time and records where and when.
//
// Variants differ in the registers per thread. Each block's
// first thread notes the SM and the global timer (ns) at its start and end. A block ends when its
// work is done and its time is over: `iterations` of dependent arithmetic by every thread, which
// take longer where others run beside it, and `ns` on the timer, which do not. With memory, every
// iteration reads and writes one word of it, neighbouring threads neighbouring words. A block with a
// trigger, which must be less than its ns, lets a programmatic dependent kernel start before its end.
#include <stdint.h>

extern "C" {

// As gs_cuda_spin_t in csrc/cuda/device.h.
struct gs_spin_t {
    uint64_t *log;      // three words per block: start, end, SM; or null
    uint64_t *summary;  // two words: the least start, and the complement of the greatest end; or null
    uint64_t ns;
    uint64_t iterations;
    uint32_t *memory;   // or null
    uint64_t words;
    uint64_t trigger;   // ns after the start at which dependents may be launched; 0: at the end
};

}

static __device__ __forceinline__ uint64_t timer()
{
    uint64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
    return ns;
}

template <int LIVE> static __device__ __forceinline__ void spin(const gs_spin_t &a)
{
    uint64_t start = timer();
    // Values that stay alive until the end, so that each needs a register of its own: different
    // ones in each thread (what threads share would lie in uniform registers), each made from the
    // one before it, so that none is cheaper to make again than to keep.
    uint32_t live[LIVE + 1];
    uint32_t sum = threadIdx.x + (uint32_t)start;
#pragma unroll
    for (int i = 0; i < LIVE; i++) {
        asm volatile("mad.lo.u32 %0, %0, %0, 1013904223;" : "+r"(sum));
        live[i] = sum;
    }
    uint64_t at = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    if (a.memory != nullptr) {
        step %= a.words;
        at %= a.words;
        volatile uint32_t *memory = a.memory;
        for (uint64_t i = 0; i < a.iterations; i++) {
            sum = sum * 1664525u + memory[at];
            memory[at] = sum;
            at += step;
            at = at >= a.words ? at - a.words : at;
        }
    } else {
        for (uint64_t i = 0; i < a.iterations; i++) {
            asm volatile("mad.lo.u32 %0, %0, 1664525, 1013904223;" : "+r"(sum));
        }
    }
    // The other threads wait at the barrier and use no issue slots.
    if (threadIdx.x == 0) {
        bool waits = a.trigger != 0;
        for (uint64_t spent = 0; spent < a.ns; spent = timer() - start) {
            if (waits && spent >= a.trigger) {
                waits = false;
#if __CUDA_ARCH__ >= 900
                asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
            }
        }
    }
    __syncthreads();
    // In an order that cannot be evaluated before the loops.
#pragma unroll
    for (int i = 0; i < LIVE; i++) {
        sum = (sum >> 3) + (sum ^ live[i]);
    }
    if (threadIdx.x == 0) {
        uint32_t sm;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
        uint64_t end = timer();
        if (a.log != nullptr) {
            uint64_t *row = a.log + 3 * (uint64_t)blockIdx.x;
            row[0] = start;
            row[1] = end;
            // Keeps the sum alive without changing the number of the SM.
            row[2] = sm | (sum == 0x5eed5eed && a.words == ~0ull ? 1ull << 63 : 0);
        }
        if (a.summary != nullptr) {
            atomicMin((unsigned long long *)a.summary, start);
            atomicMin((unsigned long long *)a.summary + 1, ~end);
        }
    }
}

extern "C" {

__global__ void gs_spin_0(gs_spin_t a) { spin<0>(a); }
__global__ void gs_spin_1(gs_spin_t a) { spin<8>(a); }
__global__ void gs_spin_2(gs_spin_t a) { spin<24>(a); }
__global__ void gs_spin_3(gs_spin_t a) { spin<40>(a); }
__global__ void gs_spin_4(gs_spin_t a) { spin<72>(a); }
__global__ void gs_spin_5(gs_spin_t a) { spin<104>(a); }
__global__ void gs_spin_6(gs_spin_t a) { spin<144>(a); }
__global__ void gs_spin_7(gs_spin_t a) { spin<226>(a); }

// Writes to an invalid address, to test the handling of device errors.
__global__ void gs_fault(uint32_t *nowhere) { *(volatile uint32_t *)nowhere = 1; }

}
